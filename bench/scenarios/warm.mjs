import { contestant, RENEWING } from "../contestants/index.mjs";
import { inFreshProcess } from "../lib/process.mjs";
import { interleaved, ratioTo } from "../lib/rounds.mjs";
import { tokenService } from "../lib/service.mjs";

const WORKER = new URL("./warm/worker.mjs", import.meta.url);
const FLOOR = "map";
const FILES = [FLOOR, ...RENEWING];

export default {
  id: "warm",
  title: "warm: a token served from memory",
  floor: "a `Map` look-up behind an `async` function",
  figures: {
    toHandWritten: "time of a call ÷ time with 15 hand-written lines",
    ratio: "time of a call ÷ time of a Map look-up",
  },
  targets: [{ figure: "toHandWritten", atMost: 2 }],
  rounds: 5,
  quickRounds: 2,
  async run({ rounds }) {
    const service = await tokenService();
    const login = await service.issue(["corner-store"]); // it took place before
    await service.close();
    const results = await interleaved(FILES, rounds, (file) => inFreshProcess(WORKER, { file, login }));
    const toFloor = ratioTo(results, FLOOR);
    const toHandWritten = ratioTo(results, "hand-written");
    const rows = {};
    for (const file of FILES) {
      const name = file === FLOOR ? "Map look-up" : (await contestant(file)).name;
      rows[name] = { toHandWritten: toHandWritten.get(file), ratio: toFloor.get(file) };
    }
    return rows;
  },
};
