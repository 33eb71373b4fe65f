import { inFreshProcess } from "../lib/process.mjs";
import { interleaved, ratioTo } from "../lib/rounds.mjs";
import { checkBearers, tokenService } from "../lib/service.mjs";

const WORKER = new URL("./exchange/worker.mjs", import.meta.url);
/** They log in at the same time. The logins of one retailer would wait for each other with ours, and cannot be many. */
const RETAILERS = ["corner-store", "rosas-bikes", "second-chapter", "tea-house"];
const FLOOR = "fetch";
const ROWS = {
  [FLOOR]: "plain fetch",
  "fetch-with-headers": "plain fetch, with the headers that we send",
  "fetch-with-deadline": "plain fetch, with these headers and a deadline",
  http: "plain node:http",
  ours: "ours",
  "passport-oauth2": "passport-oauth2 (node:http)",
  "google-auth-library": "google-auth-library",
  "simple-oauth2": "simple-oauth2",
  "badgateway-oauth2-client": "@badgateway/oauth2-client",
  "openid-client": "openid-client",
  oauth4webapi: "oauth4webapi",
};

export default {
  id: "exchange",
  title: "exchange: a code for tokens",
  floor: "the same POST by plain fetch",
  figures: { cpu: "CPU, of the floor" },
  targets: [{ figure: "cpu", atMost: 1.1 }],
  rounds: 11,
  quickRounds: 2,
  async run({ rounds }) {
    const service = await tokenService({ delayMs: 0 });
    const results = await interleaved(Object.keys(ROWS), rounds, async (file) => {
      const about = { file, address: service.address, retailers: RETAILERS };
      const { cpu, handedOut } = await inFreshProcess(WORKER, about);
      await checkBearers(service, handedOut);
      return cpu;
    });
    await service.close();
    const cpu = ratioTo(results, FLOOR);
    return Object.fromEntries(Object.entries(ROWS).map(([file, row]) => [row, { cpu: cpu.get(file) }]));
  },
};
