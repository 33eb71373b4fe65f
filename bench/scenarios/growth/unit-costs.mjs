// Bytes and statements of one engine.
import { randomBytes } from "node:crypto";
import { retailPos } from "@retail-pos/core";
import { answering } from "../../lib/process.mjs";
import { median } from "../../lib/rounds.mjs";
import { engines, verify } from "./populations.mjs";
import { LIFETIME_MS, prefixOf, T0, tokenSet } from "./retailers.mjs";
import { options, service } from "./service.mjs";

const LONG = 1000;

answering(async ({ engine, retailers, expiries }) => {
  const name = `bench_growth_${process.pid}`;
  const population = await engines[engine](name);
  try {
    const empty = await population.bytes();
    await population.fill(retailers);
    await verify(population, retailers);
    const bytes = ((await population.bytes()) - empty) / retailers;
    const statements = {
      ...(await statementsOf(population)),
      waiter: await statementsOfWaiters(engine, name, expiries),
    };
    const renewedBytes = await afterDays(population, retailers, empty);
    return {
      bytes: Math.round(bytes),
      longBytes: Math.round(await bytesOfLongOnes(engine, `${name}_long`, retailers / 10)),
      renewedBytes: renewedBytes && Math.round(renewedBytes),
      ...statements,
    };
  } finally {
    await population.remove();
    await population.close();
  }
});

/** Where an engine leaves old versions of rows behind: the size after every retailer has been renewed a few times. */
async function afterDays(population, retailers, empty) {
  if (!population.renewAll) return null;
  for (let day = 0; day < 4; day += 1) await population.renewAll(retailers);
  return ((await population.bytes()) - empty) / retailers;
}

async function bytesOfLongOnes(engine, name, retailers) {
  const population = await engines[engine](name);
  try {
    const empty = await population.bytes();
    const long = () => randomBytes(LONG).toString("base64url").slice(0, LONG); // nothing to compress
    for (let n = 0; n < retailers; n += 1) {
      const { access, ...set } = tokenSet(n);
      const tokens = { access: { ...access, value: long() }, refreshToken: long() };
      await population.tokens.store.save({ ...set, ...tokens });
    }
    return ((await population.bytes()) - empty) / retailers;
  } finally {
    await population.remove();
    await population.close();
  }
}

/** Of a process that is alone. */
async function statementsOf(population) {
  const endpoint = service();
  let now = T0;
  const fetch = endpoint.fetchFor([1]);
  const pos = retailPos({ ...options, ...population.tokens, clock: () => now, fetch });
  const count = async (at) => {
    now = at;
    const before = total(population.asked);
    await pos.tokens(prefixOf(1)).token();
    return total(population.asked) - before;
  };
  await count(T0);
  return {
    hit: await count(T0 + 1),
    lookUp: await count(T0 + 20_000),
    renewal: await count(T0 + LIFETIME_MS),
  };
}

/** Four processes want the same retailer when its token expires: three of them wait. */
async function statementsOfWaiters(engine, name, expiries) {
  const endpoint = service({ delayMs: 100 });
  const fetch = endpoint.fetchFor([2]);
  const processes = await Promise.all(Array.from({ length: 4 }, () => engines[engine](name)));
  let now = T0;
  const all = processes.map(({ tokens }) => retailPos({ ...options, ...tokens, clock: () => now, fetch }));
  const counts = [];
  for (let expiry = 1; expiry <= expiries; expiry += 1) {
    now += LIFETIME_MS + 1;
    const before = processes.map(({ asked }) => ({ ...asked }));
    await Promise.all(all.map((pos) => pos.tokens(prefixOf(2)).token()));
    processes.forEach(({ asked }, index) => {
      if ((asked.save ?? 0) === (before[index].save ?? 0)) counts.push(total(asked) - total(before[index]));
    });
  }
  if (endpoint.requests !== expiries) throw new Error(`${endpoint.requests} token requests`);
  await Promise.all(processes.map((one) => one.close()));
  return median(counts);
}

function total(asked) {
  return Object.values(asked).reduce((sum, count) => sum + count, 0);
}
