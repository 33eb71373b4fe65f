import type * as Core from "@retail-pos/core";
import { rolldown } from "rolldown";
import { root } from "../support/sources.js";

export type { Core };

/** What core finds around itself: every way in which time and chance reach it. */
export interface Surroundings {
  readonly setTimeout: (work: () => void, ms?: number) => unknown;
  readonly clearTimeout: (timer: unknown) => void;
  readonly setInterval: (work: () => void, ms?: number) => unknown;
  readonly clearInterval: (timer: unknown) => void;
  readonly setImmediate: (work: () => void) => unknown;
  readonly performance: { now(): number };
  readonly crypto: { randomUUID(): string };
  readonly Math: Math;
  readonly AbortSignal: { timeout(ms: number): AbortSignal };
}

/** One file of core's source, perhaps changed: how the mutants are made. */
export type Change = (source: string, file: string) => string;

/** Core in one piece, put together as it is for its users (scripts/bundle.mjs). */
export async function coreText(change?: Change): Promise<string> {
  const bundle = await rolldown({
    input: `${root}packages/core/src/index.ts`,
    platform: "node",
    transform: { target: "node20.19" },
    plugins: change ? [{ name: "change", transform: (source, file) => change(source, file) }] : [],
  });
  const { output } = await bundle.generate({ format: "cjs" });
  await bundle.close();
  return output[0].code;
}

/** Makes as many separate cores of one text as a run has processes. */
export function coreLoader(text: string): (around: Surroundings) => typeof Core {
  const make = new Function("exports", ...NAMES, text) as (exports: object, ...around: unknown[]) => void;
  return (around) => {
    const exports = {};
    make(exports, ...NAMES.map((name) => around[name]));
    return exports as typeof Core;
  };
}

const NAMES = [
  "setTimeout",
  "clearTimeout",
  "setInterval",
  "clearInterval",
  "setImmediate",
  "performance",
  "crypto",
  "Math",
  "AbortSignal",
] as const satisfies readonly (keyof Surroundings)[];
