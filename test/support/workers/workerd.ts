import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import { rolldown } from "rolldown";
import workerd from "workerd";
import { sources } from "../sources.js";

export interface Workerd {
  readonly url: string;
  close(): Promise<void>;
}

/**
 * Starts the worker beside this file in workerd, the runtime of Cloudflare Workers, with core as it is published.
 *
 * @param compatibilityDate workerd behaves as it did on that day.
 * @param settings what the worker imports as `settings.json`.
 */
export async function startWorkerd(compatibilityDate: string, settings: object): Promise<Workerd> {
  const folder = mkdtempSync(join(tmpdir(), "workerd-"));
  writeFileSync(join(folder, "worker.js"), await bundled());
  writeFileSync(join(folder, "settings.json"), JSON.stringify(settings));
  writeFileSync(join(folder, "config.capnp"), config(compatibilityDate));
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

async function bundled(): Promise<string> {
  const bundle = await rolldown({
    input: fileURLToPath(new URL("worker.mjs", import.meta.url)),
    platform: "neutral",
    external,
    resolve: { alias: { "@retail-pos/core": sources.get("@retail-pos/core") ?? "" } },
  });
  const { output } = await bundle.generate({ format: "esm" });
  await bundle.close();
  return output[0].code;
}

const config = (compatibilityDate: string) => `
using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "worker", worker = .worker),
    (name = "internet", network = (allow = ["local"])),
  ],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "worker")],
);
const worker :Workerd.Worker = (
  modules = [(name = "worker.js", esModule = embed "worker.js"), (name = "settings.json", json = embed "settings.json")],
  compatibilityDate = "${compatibilityDate}",
  compatibilityFlags = ["nodejs_als"],
);
`;
