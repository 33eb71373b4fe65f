import { contestant } from "../../contestants/index.mjs";
import { answering } from "../../lib/process.mjs";
import { median } from "../../lib/rounds.mjs";
import { APPLICATION } from "../../lib/service.mjs";

const CALLS = 50_000;
const BATCHES = 15;
const BASE_URL = "http://127.0.0.1:9/{domain_prefix}"; // nobody is asked for anything
const tokenUrl = (retailer) => BASE_URL.replace("{domain_prefix}", retailer);

/**
 * Answers how long a batch of calls takes: the median of several, in CPU time. Nothing is waited for here, and
 * what else runs on the machine takes part in that time the least.
 */
answering(async ({ file, login: [{ retailer, ...held }] }) => {
  const { bearer, ask = bearer, read = (value) => value } = await sourceOf(file, new Map([[retailer, held]]));
  const name = Buffer.from(retailer).toString(); // a request brings a string of its own
  const got = new Array(CALLS).fill("");

  for (let round = 0; round < 4; round += 1) await batch(); // the code is compiled
  const took = [];
  for (let round = 0; round < BATCHES; round += 1) took.push(await batch());
  return median(took);

  async function batch() {
    const before = process.cpuUsage();
    for (let call = 0; call < CALLS; call += 1) got[call] = read(await ask(name));
    const { user, system } = process.cpuUsage(before);
    if (got.some((value) => value !== held.accessToken)) throw new Error("a bearer that was not issued");
    return user + system;
  }
});

async function sourceOf(file, tokens) {
  if (file === "map") return { bearer: async (retailer) => tokens.get(retailer).accessToken };
  return (await contestant(file)).create({ ...APPLICATION, baseUrl: BASE_URL, tokenUrl, tokens });
}
