import { answering } from "../../lib/process.mjs";
import { median } from "../../lib/rounds.mjs";
import { APPLICATION, tokenServiceAt } from "../../lib/service.mjs";
import { exchanges } from "./exchanges.mjs";

const CODES = 500;
const BATCHES = 6;
/** So many until V8 has compiled all of it: then one costs a third of what the first hundreds cost. */
const WARM_UPS = 6;
/** Logins under way at the same time. */
const AT_ONCE = 4;

/** Answers the CPU time of a batch of exchanges, the median of several, and every access token. */
answering(async ({ file, address, retailer }) => {
  const service = tokenServiceAt(address);
  const { baseUrl } = service;
  const tokenUrl = service.tokenUrl(retailer);
  const exchange = await exchanges[file]({ ...APPLICATION, baseUrl, tokenUrl, retailer });
  const values = [];
  for (let warmUp = 0; warmUp < WARM_UPS; warmUp += 1) await batch();
  const took = [];
  for (let round = 0; round < BATCHES; round += 1) took.push(await batch());
  return { cpu: median(took), values };

  async function batch() {
    const codes = await service.codes(retailer, CODES);
    const before = process.cpuUsage();
    await Promise.all(Array.from({ length: AT_ONCE }, logIns));
    const { user, system } = process.cpuUsage(before);
    return user + system;

    async function logIns() {
      while (codes.length > 0) values.push(await exchange(codes.pop()));
    }
  }
});
