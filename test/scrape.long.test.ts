import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { fileURLToPath } from "node:url";
import { type Sandbox, startSandbox } from "@retail-pos/sandbox";
import { Redis } from "ioredis";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { canRun as hasRedis, url as redisUrl } from "../packages/store-redis/testing/redis.js";
import { browser } from "./support/browser.js";
import { canRun as hasPrometheus } from "./support/monitoring/prometheus.js";
import { type Prometheus, startPrometheus } from "./support/monitoring/scraping.js";

// The starter as it is deployed, but for its client secret; a real Prometheus scrapes its workers and has the rules.

const WORKERS = 2;
const namespace = `test_${randomUUID().replaceAll("-", "").slice(0, 16)}`;
const server = fileURLToPath(new URL("../examples/express-login/dist/server.js", import.meta.url));
const exporter = new URL("support/monitoring/exporter.mjs", import.meta.url).href;
const SOON = { timeout: 30_000, interval: 200 };

describe.skipIf(!hasRedis || !hasPrometheus)("examples/express-login, scraped by Prometheus", () => {
  let sandbox: Sandbox;
  let cluster: ChildProcess;
  let prometheus: Prometheus | undefined;
  let output = "";

  beforeAll(async () => {
    sandbox = await startSandbox();
    cluster = spawn(process.execPath, ["--import", exporter, server], {
      env: {
        ...process.env,
        ...{
          REDIS_URL: redisUrl,
          DATABASE_URL: "",
          NAMESPACE: namespace,
          PORT: "0",
          WORKERS: String(WORKERS),
        },
        SESSION_SECRET: "for the tests, and for nothing else",
        RETAIL_POS_AUTH_URL: sandbox.authUrl,
        RETAIL_POS_BASE_URL: sandbox.baseUrl,
        RETAIL_POS_CLIENT_ID: sandbox.application.clientId,
        RETAIL_POS_CLIENT_SECRET: "not the secret",
        RETAIL_POS_REDIRECT_URI: sandbox.application.redirectUri,
      },
    });
    for (const stream of [cluster.stdout, cluster.stderr]) {
      stream?.on("data", (text) => {
        output += text;
      });
    }
  }, 60_000);

  afterAll(async () => {
    await prometheus?.end();
    cluster.kill("SIGKILL");
    for (const [, pid] of output.matchAll(/\(process (\d+)\) is listening/g)) kill(Number(pid));
    await sandbox.close();
    const redis = new Redis(redisUrl);
    for await (const keys of redis.scanStream({ match: `${namespace}*` })) {
      if (keys.length > 0) await redis.unlink(keys);
    }
    redis.disconnect();
  }, 60_000);

  test("a login with a wrong client secret fires one alert, with the way to its runbook", async () => {
    const origin = await vi.waitFor(() => found(/Open (http:.*)/)[0] as string, SOON);
    const targets = await vi.waitFor(() => {
      const pages = found(/Metrics at (\S+)\./);
      expect(pages).toHaveLength(WORKERS);
      return pages;
    }, SOON);
    const running = await startPrometheus(targets);
    prometheus = running;
    const refused = 'retail_pos_token_requests_total{error_type="client_refused"}';
    await vi.waitFor(
      async () => expect(await running.query(`sum by (instance) (${refused})`)).toEqual([0, 0]),
      SOON,
    );
    expect(await running.alerts()).toEqual([]);

    const person = browser();
    const start = await person.open(`${origin}/auth/retail-pos`);
    const store = sandbox.stores[0]?.domainPrefix ?? "";
    const callback = sandbox.consent(start.location, store);
    const answer = await person.open(`${origin}${callback.pathname}${callback.search}`);
    expect(answer.status).toBe(500);

    const alerts = await vi.waitFor(async () => {
      const all = await running.alerts();
      expect(all.filter(({ state }) => state === "firing")).not.toEqual([]);
      return all;
    }, SOON);
    expect(alerts).toMatchObject([
      {
        labels: { alertname: "RetailPosClientRefused", job: "express-login", severity: "page" },
        annotations: {
          runbook_url: "docs/runbooks.md#retailposclientrefused",
          description: expect.stringContaining("100%"),
        },
      },
    ]);
    expect(await running.query(`sum(${refused})`)).toEqual([1]);
    expect(JSON.stringify(alerts)).not.toContain(store);
  }, 120_000);

  function found(pattern: RegExp): string[] {
    const all = [...output.matchAll(new RegExp(pattern, "g"))].map(([, text]) => text ?? "");
    if (all.length === 0) throw new Error(`The cluster has not said it yet: ${output}`);
    return all;
  }
});

/** Each worker ends with the primary; what is left of them would listen on. */
function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It has ended.
  }
}
