import { canRun as hasPostgres } from "../../packages/store-postgres/testing/postgres.js";
import { canRun as hasRedis } from "../../packages/store-redis/testing/redis.js";
import { findChromium } from "./chromium.js";
import { isInstalled } from "./installed.js";
import { canRun as hasPrometheus } from "./monitoring/prometheus.js";

const WAY_OUT = "without that variable `scripts/services.sh npx -y pnpm test` starts one";

/**
 * Names each group of tests that this machine cannot run, and why. With `NO_SKIP=1` nothing may be
 * skipped, so a missing part is an error before the first test.
 */
export default function setup(): (() => void) | undefined {
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
  if (skipped.length === 0) return undefined;

  const report = `Skipped groups:\n${skipped.map((group) => `  - ${group}`).join("\n")}`;
  if (process.env["NO_SKIP"]) throw new Error(`With NO_SKIP=1 nothing may be skipped.\n${report}`);
  return () => console.log(`\n${report}\n`);
}
