#!/usr/bin/env node
import { main } from "./main.js";
import { wordsOf } from "./terminal/error-message.js";
import { realTime } from "./terminal/time.js";
import { READER_GONE } from "./terminal/world.js";

/** After an error that nobody caught. A renewal under way takes less, if `timeoutMs` is core's own. */
const ENDS_WITHIN_MS = 120_000;

// What an application's module starts, connections above all, would keep this process alive without end: it ends when
// the command does. Until then it lives, also if a store of the application's waits for nothing that Node knows of.
const stop = new AbortController();
const alive = setInterval(() => {}, 2 ** 30);

// The first one lets what is under way end; the second ends the process.
for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(name, () => stop.abort());
// Whoever reads went away: `retail-pos list | head`, or a terminal that was closed.
for (const stream of [process.stdout, process.stderr]) stream.on("error", () => stop.abort(READER_GONE));
// Of the application's module: a connection whose errors nobody listens to. The tokens that another connection saves at
// that moment must not be lost, so what is under way ends first.
let told: string | undefined;
process.on("uncaughtException", (error) => {
  const words = wordsOf(error);
  if (words !== told) process.stderr.write(`retail-pos: ${words}\n`); // a connection that tries again fails again
  if (told === undefined) setTimeout(() => process.exit(1), ENDS_WITHIN_MS).unref();
  told = words;
  process.exitCode = 1;
  stop.abort();
});

const { env, stdin, stdout, stderr } = process;
const terminal = { env, stdin, stdout, stderr, signal: stop.signal, clock: Date.now, time: realTime };
const exitCode = await main(process.argv.slice(2), terminal).finally(() => clearInterval(alive));
await Promise.all(
  [stdout, stderr].map((stream) => new Promise<void>((done) => stream.write("", () => done()))),
);
process.exit(stop.signal.aborted ? 1 : exitCode);
