import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { onTestFinished } from "vitest";

/** A command that runs, or ran, in a process of its own. */
export interface RunningCommand {
  readonly child: ChildProcessWithoutNullStreams;
  /** What it has printed so far, on both streams. */
  output(): string;
  /** The same of one stream. */
  stdout(): string;
  stderr(): string;
  /** Resolves with the first match, once it was printed. */
  printed(words: RegExp): Promise<string>;
  /** Resolves with the exit code; `null` if a signal ended it. */
  readonly ended: Promise<number | null>;
}

/** Is given what ends something. */
export type Until = (end: () => void | Promise<void>) => void;

/** Starts a compiled program; by default it ends with the test at the latest. */
export function startCommand(
  program: string,
  args: readonly string[],
  {
    env = {},
    cwd,
    until = onTestFinished,
  }: { env?: Record<string, string>; cwd?: string; until?: Until } = {},
): RunningCommand {
  const child = spawn(process.execPath, [program, ...args], { env: { ...process.env, ...env }, cwd });
  until(() => void child.kill("SIGKILL"));
  const ended = new Promise<number | null>((resolve) => child.on("close", resolve));
  const said = { stdout: "", stderr: "", both: "" };
  const looks = new Set<() => void>();
  for (const name of ["stdout", "stderr"] as const) {
    child[name].on("data", (chunk) => {
      said[name] += String(chunk);
      said.both += String(chunk);
      for (const look of looks) look();
    });
  }
  const printed = (words: RegExp) =>
    new Promise<string>((resolve) => {
      const look = () => {
        const found = words.exec(said.both);
        if (found) resolve(found[0]);
      };
      looks.add(look);
      look();
    });
  return {
    child,
    ended,
    printed,
    output: () => said.both,
    stdout: () => said.stdout,
    stderr: () => said.stderr,
  };
}
