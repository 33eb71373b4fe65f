import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { rolldown } from "rolldown";
import workerd from "workerd";
import { sources } from "../sources.js";

export interface Workerd {
  readonly url: string;
  close(): Promise<void>;
}

export interface WorkerOptions {
  /** The worker's main file. */
  readonly input: string;
  /** The runtime behaves as it did on that day. */
  readonly compatibilityDate: string;
  readonly compatibilityFlags?: readonly string[];
  /** What the worker imports as `settings.json`, and its bindings. */
  readonly settings: Readonly<Record<string, string>>;
  /** Default: any free port. */
  readonly port?: number;
}

/** Starts a worker in workerd, the runtime of Cloudflare Workers, with our packages bundled into it. */
export async function startWorkerd(options: WorkerOptions): Promise<Workerd> {
  const folder = mkdtempSync(join(tmpdir(), "workerd-"));
  writeFileSync(join(folder, "worker.js"), await bundled(options.input));
  writeFileSync(join(folder, "settings.json"), JSON.stringify(options.settings));
  writeFileSync(join(folder, "config.capnp"), config(options));
  const child = spawn(workerd, ["serve", "config.capnp", "--control-fd=3"], {
    cwd: folder,
    stdio: ["ignore", "inherit", "inherit", "pipe"],
  });
  const ended = once(child, "exit");
  const [line] = await Promise.race([
    once(createInterface({ input: child.stdio[3] as Readable }), "line"),
    ended.then(() => Promise.reject(new Error("workerd did not start"))),
  ]);
  return {
    url: `http://127.0.0.1:${JSON.parse(line).port}`,
    async close() {
      child.kill();
      await ended;
      rmSync(folder, { recursive: true });
    },
  };
}

/** What may be imported at run time: the runtime's own modules, and the settings. */
const external = /^(cloudflare|node):|^settings\.json$/;

async function bundled(input: string): Promise<string> {
  const bundle = await rolldown({
    input,
    external,
    platform: "browser",
    resolve: { alias: Object.fromEntries(sources), conditionNames: ["workerd", "import"] },
  });
  const { output } = await bundle.generate({ format: "esm" });
  await bundle.close();
  return output[0].code;
}

const config = ({ compatibilityDate, compatibilityFlags = [], settings, port = 0 }: WorkerOptions) => `
using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "worker", worker = .worker),
    (name = "internet", network = (allow = ["local"])),
  ],
  sockets = [(name = "http", address = "127.0.0.1:${port}", http = (), service = "worker")],
);
const worker :Workerd.Worker = (
  modules = [(name = "worker.js", esModule = embed "worker.js"), (name = "settings.json", json = embed "settings.json")],
  bindings = [${Object.entries(settings).map(([name, value]) => `(name = "${name}", text = ${JSON.stringify(value)})`)}],
  compatibilityDate = "${compatibilityDate}",
  compatibilityFlags = [${compatibilityFlags.map((flag) => `"${flag}"`)}],
);
`;
