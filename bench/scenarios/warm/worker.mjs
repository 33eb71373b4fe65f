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
answering(async ({ file, logins }) => {
  const tokens = new Map(logins.map(({ retailer, ...held }) => [retailer, held]));
  const { bearer, ask = bearer, read = (value) => value } = await sourceOf(file, tokens);
  // Not the very strings that are stored: a request brings a string of its own.
  const names = logins.map(({ retailer }) => Buffer.from(retailer).toString());
  const expected = logins.map(({ accessToken }) => accessToken);
  const order = Uint32Array.from({ length: CALLS }, () => Math.random() * names.length);
  const got = new Array(CALLS).fill("");

  for (let known = 0; known < names.length; known += 1) await ask(names[known]); // every retailer has called before
  for (let round = 0; round < 4; round += 1) await batch(); // the code is compiled
  const took = [];
  for (let round = 0; round < BATCHES; round += 1) took.push(await batch());
  return median(took);

  async function batch() {
    const before = process.cpuUsage();
    for (let call = 0; call < CALLS; call += 1) got[call] = read(await ask(names[order[call]]));
    const { user, system } = process.cpuUsage(before);
    for (let call = 0; call < CALLS; call += 1) {
      if (got[call] !== expected[order[call]])
        throw new Error("a bearer that was not issued to its retailer");
    }
    return user + system;
  }
});

async function sourceOf(file, tokens) {
  const setup = { ...APPLICATION, baseUrl: BASE_URL, tokenUrl, tokens };
  if (file === "map") return { bearer: async (retailer) => tokens.get(retailer).accessToken };
  if (file !== "ours-now") return (await contestant(file)).create(setup);
  const { pos } = await (await contestant("ours")).create(setup);
  return {
    bearer: async (retailer) => {
      const source = pos.tokens(retailer);
      return (source.tokenNow() ?? (await source.token())).value;
    },
  };
}
