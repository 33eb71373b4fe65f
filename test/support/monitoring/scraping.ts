import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { listen } from "../listen.js";
import { findPrometheus, rulesFile } from "./prometheus.js";

/** One alert, as Prometheus tells of it. */
export interface FiringAlert {
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly state: "pending" | "firing";
}

/** A Prometheus of our own, with the published rules; it scrapes and evaluates every second. */
export interface Prometheus {
  /** The values of the series that a query gives. */
  query(expression: string): Promise<number[]>;
  alerts(): Promise<FiringAlert[]>;
  end(): Promise<void>;
}

/** @param targets `host:port` of each page of metrics. */
export async function startPrometheus(targets: readonly string[]): Promise<Prometheus> {
  const folder = mkdtempSync(join(tmpdir(), "retail-pos-prometheus-"));
  const config = join(folder, "prometheus.yml");
  writeFileSync(
    config,
    JSON.stringify({
      global: { scrape_interval: "1s", evaluation_interval: "1s" },
      rule_files: [rulesFile],
      scrape_configs: [{ job_name: "express-login", static_configs: [{ targets }] }],
    }),
  );
  const free = await listen(() => {});
  await free.close();
  const address = `127.0.0.1:${free.port}`;
  const child = spawn(
    findPrometheus("prometheus") ?? "prometheus",
    [
      `--config.file=${config}`,
      `--storage.tsdb.path=${join(folder, "data")}`,
      `--web.listen-address=${address}`,
    ],
    { stdio: ["ignore", "ignore", "pipe"] },
  );
  const ended = endOf(child);
  await Promise.race([isReady(`http://${address}`), ended.then((said) => Promise.reject(new Error(said)))]);

  async function ask<T>(path: string): Promise<T> {
    const answer = await fetch(`http://${address}/api/v1/${path}`);
    const { data } = (await answer.json()) as { data: T };
    return data;
  }

  return {
    async query(expression) {
      const path = `query?query=${encodeURIComponent(expression)}`;
      const { result } = await ask<{ result: { value: [number, string] }[] }>(path);
      return result.map(({ value: [, value] }) => Number(value));
    },
    alerts: async () => (await ask<{ alerts: FiringAlert[] }>("alerts")).alerts,
    async end() {
      child.kill("SIGTERM");
      await ended;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** What it said on its way. */
function endOf(child: ChildProcess): Promise<string> {
  let said = "";
  child.stderr?.on("data", (text) => {
    said += text;
  });
  return new Promise((resolve) => child.once("close", () => resolve(said)));
}

async function isReady(origin: string): Promise<void> {
  for (;;) {
    const answer = await fetch(`${origin}/-/ready`).catch(() => undefined);
    if (answer?.ok) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
