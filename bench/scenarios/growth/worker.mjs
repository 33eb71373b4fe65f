// One process on one population. It fills it, and then does one short round of one kind whenever it is told to.
import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { retailPos } from "@retail-pos/core";
import { engines, verify } from "./populations.mjs";
import { LIFETIME_MS, prefixOf, T0 } from "./retailers.mjs";
import { options, service } from "./service.mjs";
import { obeying } from "./standing-process.mjs";

const HOUR_MS = 3_600_000;
/** As many retailers as both populations have. */
const WARM = 1000;

const endpoint = service();
let engine;
let size;
let population;
let kinds;
let days = 0;

/**
 * Everything a round needs is made before its clock runs; what it brought is checked when it is over.
 *
 * @param isInMemory there is nothing to wait for, and a round needs more calls to be measurable.
 */
function roundsOf(isInMemory) {
  return {
    /** The process trusts its copy of these retailers' tokens. */
    hit: warmRound({ passes: 300, cacheMs: 10_000 }),
    /** The process knows these retailers, and asks the store each time. */
    known: warmRound({ passes: isInMemory ? 50 : 1, cacheMs: 0 }),
    /** The process has never heard of these retailers. */
    first: warmRound({ passes: isInMemory ? 10 : 1, isFirst: true }),
    /** Nor of these, whose tokens have expired. */
    renewal: renewalRound(isInMemory ? 1000 : 200),
  };
}

/** So many passes over {@link WARM} retailers: the same ones, or others each time. */
function warmRound({ passes, cacheMs, isFirst = false }) {
  let now = T0;
  const open = () => population.open({ ...options, cacheMs, clock: () => now });
  let known;
  return async () => {
    now += 10_000; // an older copy is not trusted any more: other rounds have renewed some
    if (!isFirst) known ??= openedFor(open(), sample(WARM));
    const opened = Array.from({ length: passes }, () => known ?? openedFor(open(), sample(WARM)));
    if (known) for (const source of known.sources) await source.token();
    const handedOut = opened.map(() => []);
    const cost = await measure(passes * WARM, async () => {
      for (const [pass, { sources }] of opened.entries())
        for (const source of sources) handedOut[pass].push((await source.token()).value);
    });
    const good = new Map();
    for (const [pass, one] of opened.entries()) {
      if (!good.has(one))
        good.set(
          one,
          one.numbers.map((n) => endpoint.current(n).access_token),
        );
      assert.deepEqual(handedOut[pass], good.get(one));
    }
    return cost;
  };
}

function renewalRound(calls) {
  return async () => {
    if (engine === "map") return null;
    const now = T0 + ++days * (LIFETIME_MS + HOUR_MS); // all of them have expired
    const numbers = sample(calls);
    const fetch = endpoint.fetchFor(numbers);
    const { sources } = openedFor(population.open({ ...options, clock: () => now, fetch }), numbers);
    const before = endpoint.requests;
    const values = [];
    const cost = await measure(calls, async () => {
      for (const source of sources) values.push((await source.token()).value);
    });
    assert.equal(endpoint.requests - before, calls);
    assert.deepEqual(
      values,
      numbers.map((n) => endpoint.current(n).access_token),
    );
    return cost;
  };
}

function openedFor(pos, numbers) {
  return { numbers, sources: numbers.map((n) => pos.tokens(prefixOf(n))) };
}

/** Different ones, from the whole population. */
function sample(count) {
  const numbers = new Set();
  while (numbers.size < Math.min(count, size)) numbers.add(Math.floor(Math.random() * size));
  return [...numbers];
}

/** Nanoseconds per call. */
async function measure(calls, work) {
  const start = process.hrtime.bigint();
  await work();
  return Number(process.hrtime.bigint() - start) / calls;
}

obeying({
  async fill(wanted) {
    ({ engine, size } = wanted);
    population = await engines[engine](`bench_growth_${process.pid}`);
    await population.fill(size);
    await verify(population, size);
    globalThis.gc(); // of what filling left behind; what a collection leaves to do afterwards is done in the pause
    await sleep(1000);
    const { tokens } = population;
    population.open ??= (given) => retailPos({ ...given, ...tokens });
    kinds = roundsOf(engine === "map" || engine === "memory");
  },
  round: (kind) => kinds[kind](),
  async close() {
    const left = population;
    population = undefined;
    await left?.remove();
    await left?.close();
  },
});
