// What a retailer in the memory store takes of the heap, in the size of what has to be kept anyhow.
import { inFreshProcess } from "../lib/process.mjs";
import { interleaved, median, ratioTo } from "../lib/rounds.mjs";

const keepers = {
  texts: "four texts and a Map entry",
  object: "hand-written: an object in a Map",
  ours: "ours",
  processCopy: "ours, what a process holds of a retailer",
};

export default {
  id: "growth-heap",
  title: "growth: heap for each retailer in the memory store",
  floor: "the four texts and their Map entry",
  rounds: 5,
  quickRounds: 1,
  figures: { ratio: "of the floor", bytes: "bytes, with tokens of 64 characters" },
  targets: [{ figure: "ratio", atMost: 1.5 }],
  async run({ rounds }) {
    const worker = new URL("growth/heap.mjs", import.meta.url);
    const results = await interleaved(Object.keys(keepers), rounds, (keeper) =>
      inFreshProcess(worker, keeper, { execArgv: ["--expose-gc"] }),
    );
    const ratios = ratioTo(results, "texts", ({ bytes }) => bytes);
    return Object.fromEntries(
      Object.entries(keepers).map(([keeper, name]) => [
        name,
        {
          ratio: ratios.get(keeper),
          bytes: Math.round(median(results.get(keeper).map(({ bytes }) => bytes))),
        },
      ]),
    );
  },
};
