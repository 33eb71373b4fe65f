// What a retailer takes of the heap: in the memory store, and in a process that serves it.
import { inFreshProcess } from "../lib/process.mjs";
import { interleaved, median } from "../lib/rounds.mjs";

const WORKER = new URL("growth/heap.mjs", import.meta.url);
const rounds = 1; // bytes do not vary
const quickRounds = 1;

const stored = {
  id: "growth-heap",
  title: "growth: heap for each retailer in the memory store",
  floor: "nothing",
  rounds,
  quickRounds,
  figures: { bytes: "bytes, with tokens of 64 characters" },
  targets: [],
  async run({ rounds }) {
    const keepers = {
      object: "hand-written: an object in a Map",
      ours: "ours",
      processCopy: "ours, what a process holds of a retailer",
    };
    const results = await measured(keepers, rounds, 64);
    return rowsOf(keepers, (keeper) => ({ bytes: bytesOf(results, keeper) }));
  },
};

const served = {
  id: "growth-served",
  title: "growth: heap for each retailer served from the memory store",
  floor: "nothing",
  rounds,
  quickRounds,
  figures: { bytes: "bytes, with tokens of 32 characters" },
  targets: [{ figure: "bytes", atMost: 1100 }],
  async run({ rounds }) {
    const keepers = { object: "hand-written: an object in a Map", served: "ours" };
    const results = await measured(keepers, rounds, 32);
    return rowsOf(keepers, (keeper) => ({ bytes: bytesOf(results, keeper) }));
  },
};

export default [stored, served];

const measured = (keepers, rounds, characters) =>
  interleaved(Object.keys(keepers), rounds, (keeper) =>
    inFreshProcess(WORKER, { keeper, characters }, { execArgv: ["--expose-gc"] }),
  );

const rowsOf = (keepers, figuresOf) =>
  Object.fromEntries(Object.entries(keepers).map(([keeper, name]) => [name, figuresOf(keeper)]));

const bytesOf = (results, keeper) => Math.round(median(results.get(keeper).map(({ bytes }) => bytes)));
