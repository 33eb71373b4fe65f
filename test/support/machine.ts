import { canRun as hasPostgres } from "../../packages/store-postgres/testing/postgres.js";
import { canRun as hasRedis } from "../../packages/store-redis/testing/redis.js";
import { findChromium } from "./chromium.js";
import { isInstalled } from "./installed.js";
import { contents } from "./left-behind.js";
import { canRun as hasPrometheus } from "./monitoring/prometheus.js";

const WAY_OUT = "without that variable `scripts/services.sh npx -y pnpm test` starts one";

/**
 * Names each group of tests that this machine cannot run, and why. With `NO_SKIP=1` nothing may be
 * skipped, so a missing part is an error before the first test. After the last one, the services' databases hold what
 * they held before.
 */
export default async function setup(): Promise<() => Promise<void>> {
  const skipped: string[] = [];
  if (!findChromium()) {
    skipped.push("browser: no Chromium found; install Debian's `chromium` or set CHROMIUM to its path");
  }
  if (!hasPrometheus)
    skipped.push("alert rules: no prometheus and promtool found; install Debian's `prometheus`");
  if (!hasRedis) skipped.push(`Redis: none answers at REDIS_URL, or on the default port; ${WAY_OUT}`);
  if (!hasPostgres)
    skipped.push(`PostgreSQL: none answers at DATABASE_URL, or on the default port; ${WAY_OUT}`);
  if (!isInstalled("pgbouncer")) skipped.push("PgBouncer: install Debian's `pgbouncer`");
  if (!isInstalled("nginx")) skipped.push("nginx: install Debian's `nginx-light`");
  const report = `Skipped groups:\n${skipped.map((group) => `  - ${group}`).join("\n")}`;
  if (skipped.length > 0 && process.env["NO_SKIP"])
    throw new Error(`With NO_SKIP=1 nothing may be skipped.\n${report}`);
  const before = await contents();
  return async () => {
    if (skipped.length > 0) console.log(`\n${report}\n`);
    const left = [...(await contents())].filter((name) => !before.has(name));
    if (left.length === 0) return;
    console.error(`\nThe tests left behind:\n${left.map((name) => `  - ${name}`).join("\n")}\n`);
    process.exitCode = 1; // an error here would only be told
  };
}
