import { answering } from "../../lib/process.mjs";
import { median } from "../../lib/rounds.mjs";
import { APPLICATION, tokenServiceAt } from "../../lib/service.mjs";
import { exchanges } from "./exchanges.mjs";

const CODES = 500;
const BATCHES = 6;
/** So many until V8 has compiled all of it: then one costs a third of what the first hundreds cost. */
const WARM_UPS = 6;

/**
 * Answers the CPU time of a batch of exchanges, the median of several, and what was handed out. The retailers log in at
 * the same time, each at its own endpoint; the logins of one retailer come one after the other.
 */
answering(async ({ file, address, retailers }) => {
  const service = tokenServiceAt(address);
  const { baseUrl } = service;
  const logins = await Promise.all(
    retailers.map(async (retailer) => {
      const setup = { ...APPLICATION, baseUrl, tokenUrl: service.tokenUrl(retailer), retailer };
      return { retailer, exchange: await exchanges[file](setup) };
    }),
  );
  const handedOut = [];
  for (let warmUp = 0; warmUp < WARM_UPS; warmUp += 1) await batch();
  const took = [];
  for (let round = 0; round < BATCHES; round += 1) took.push(await batch());
  return { cpu: median(took), handedOut };

  async function batch() {
    const count = CODES / retailers.length;
    const codes = await Promise.all(retailers.map((retailer) => service.codes(retailer, count)));
    const before = process.cpuUsage();
    await Promise.all(logins.map((login, index) => logIn(login, codes[index])));
    const { user, system } = process.cpuUsage(before);
    return user + system;
  }

  async function logIn({ retailer, exchange }, codes) {
    for (const code of codes) handedOut.push({ retailer, value: await exchange(code) });
  }
});
