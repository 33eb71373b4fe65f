import { Readable } from "node:stream";
import { main } from "../src/main.js";
import { realTime, type Time } from "../src/terminal/time.js";
import type { Terminal } from "../src/terminal/world.js";

/** What a command is run with. */
export interface Surroundings {
  /** What somebody types, or a pipe brings. */
  readonly stdin?: string;
  /** Both streams are a terminal's; default false. */
  readonly isTTY?: boolean;
  /** A terminal's reader wants colours; default false. */
  readonly hasColors?: boolean;
  readonly env?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
  readonly clock?: () => number;
  readonly time?: Time;
  readonly onOutput?: (text: string) => void;
}

/** What a command did. */
export interface Ran {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a command in this process. */
export async function run(args: string[], surroundings: Surroundings = {}): Promise<Ran> {
  const { stdin = "", isTTY = false, hasColors = false, env = {}, clock = Date.now } = surroundings;
  const { signal = new AbortController().signal, time = realTime } = surroundings;
  const said = { stdout: "", stderr: "" };
  const stream = (name: keyof typeof said) => ({
    columns: 100,
    isTTY,
    hasColors: () => hasColors,
    write(text: string | Uint8Array, done?: unknown) {
      said[name] += String(text);
      if (name === "stdout") surroundings.onOutput?.(String(text));
      if (typeof done === "function") done();
      return true;
    },
  });
  const input = Readable.from(stdin === "" ? [] : [stdin]);
  const terminal = {
    env,
    stdin: input,
    stdout: stream("stdout"),
    stderr: stream("stderr"),
    signal,
    clock,
    time,
  };
  return { exitCode: await main(args, terminal as unknown as Terminal), ...said };
}
