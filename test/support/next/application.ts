import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { onTestFinished } from "vitest";
import { base64FormsOf } from "../canaries-search.js";

/** An application in a folder of its own, with one version of Next.js. */
export interface NextApplication {
  write(file: string, text: string): void;
  remove(file: string): void;
  /** `next build`, with these settings and nothing of the tests' own. */
  build(settings: Settings): Promise<void>;
  /**
   * `next start` or `next dev`.
   *
   * @param until is given what ends it; by default that is done when the test is over.
   */
  serve(
    command: "start" | "dev",
    settings: Settings & { PORT: string },
    until?: (end: () => Promise<void>) => void,
  ): Promise<Served>;
  /** The files that Next made and that hold the text, as it is or in base64. */
  madeFilesWith(text: string): string[];
}

interface Served {
  /** What it has printed so far. */
  output(): string;
  /** Sends SIGTERM, and resolves when the process has ended. */
  stop(): Promise<void>;
}

type Settings = Readonly<Record<string, string>>;

/** Next is found in the folder above. */
export function nextApplication(folder: string, files: ReadonlyMap<string, string>): NextApplication {
  const next = join(dirname(folder), "node_modules/next/dist/bin/next");
  const write = (file: string, text: string) => {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    writeFileSync(join(folder, file), text);
  };
  for (const [file, text] of files) write(file, text);

  return {
    write,
    remove: (file) => rmSync(join(folder, file)),
    async build(settings) {
      await promisify(execFile)(process.execPath, [next, "build"], { cwd: folder, env: envOf(settings) });
    },
    async serve(command, settings, until = onTestFinished) {
      // A group of its own, to be ended whole: `next dev` works in a child.
      const options = { cwd: folder, env: envOf(settings), detached: true } as const;
      const child = spawn(process.execPath, [next, command], {
        ...options,
        stdio: ["ignore", "pipe", "pipe"],
      });
      const ended = once(child, "exit");
      until(async () => {
        if (child.exitCode === null && child.signalCode === null)
          process.kill(-(child.pid as number), "SIGKILL");
        await ended;
      });
      let output = "";
      await new Promise<void>((resolve, reject) => {
        for (const stream of [child.stdout, child.stderr])
          stream.on("data", (text) => {
            output += text;
            if (/Ready in/.test(output)) resolve();
          });
        ended.then(() => reject(new Error(`next ${command} ended: ${output}`)), reject);
      });
      const stop = async () => {
        child.kill("SIGTERM");
        await ended;
      };
      return { output: () => output, stop };
    },
    madeFilesWith(text) {
      const forms = [text, ...base64FormsOf(text)];
      const made = join(folder, ".next");
      return readdirSync(made, { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map((entry) => join(entry.parentPath, entry.name))
        .filter((file) => {
          const bytes = readFileSync(file);
          return forms.some((form) => bytes.includes(form));
        });
    },
  };
}

function envOf(settings: Settings): NodeJS.ProcessEnv {
  const { PATH, HOME } = process.env;
  return { PATH, HOME, NEXT_TELEMETRY_DISABLED: "1", ...settings } as NodeJS.ProcessEnv;
}
