// The process of the job, beside one population. The token endpoint is a function that answers after 100 ms.
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { retailPos } from "@retail-pos/core";
import { engines, verify } from "../growth/populations.mjs";
import { LIFETIME_MS, prefixOf, T0 } from "../growth/retailers.mjs";
import { options } from "../growth/service.mjs";
import { obeying } from "../growth/standing-process.mjs";

const ANSWER_MS = 100;
const HOUR_MS = 3_600_000;
/** Memory is looked at after each so many renewals, with everything gone that nobody holds. */
const A_LOOK = 5000;
const MIB = 2 ** 20;

let population;
let size;
/** Of each retailer, by its number: made before memory is measured, and as large afterwards. */
let numbers;
let requests;
let days = 0;

obeying({
  async fill(wanted) {
    size = wanted.size;
    population = await engines[wanted.engine](`bench_fleet_${process.pid}`);
    await population.fill(size);
    await verify(population, size);
    numbers = new Map(Array.from({ length: size }, (_, n) => [prefixOf(n), n]));
    requests = new Uint8Array(size);
  },
  async run({ concurrency, forMs }) {
    const now = T0 + ++days * (LIFETIME_MS + HOUR_MS); // all of them have ended
    const memory = memoryWatch();
    const fetch = tokenEndpoint(memory.look);
    const pos = retailPos({ ...options, ...population.tokens, clock: () => now, fetch });
    requests.fill(0);
    const before = statements();
    const stop = forMs ? AbortSignal.timeout(forMs) : undefined;
    const start = performance.now();
    const report = await pos.renewDue({ concurrency, ...(stop && { signal: stop }) });
    const tookMs = performance.now() - start;
    memory.look();
    check(report, forMs !== undefined);
    return {
      ratio: tookMs / ((report.renewed * ANSWER_MS) / concurrency),
      requests: requests.reduce((most, count) => Math.max(most, count), 0),
      statements: (statements() - before) / report.renewed,
      heap: memory.most() / MIB,
    };
  },
  async close() {
    const left = population;
    population = undefined;
    await left?.remove();
    await left?.close();
  },
});

function check({ renewed, refused, failed, elsewhere, stopped }, mayBeStopped) {
  assert.deepEqual({ refused, failed, elsewhere }, { refused: 0, failed: 0, elsewhere: 0 });
  assert.equal(
    requests.reduce((sum, count) => sum + count, 0),
    renewed,
  );
  assert.equal(stopped, mayBeStopped && renewed < size);
  if (!mayBeStopped) assert.equal(renewed, size);
}

/** Rotates, and remembers nothing but how often it was asked. */
function tokenEndpoint(look) {
  let answered = 0;
  return async (url) => {
    requests[numbers.get(new URL(url).hostname.split(".", 1)[0])] += 1;
    await sleep(ANSWER_MS);
    answered += 1;
    if (answered % A_LOOK === 0) look();
    const [access_token, refresh_token] = [secret(), secret()];
    return Response.json({
      access_token,
      refresh_token,
      token_type: "Bearer",
      expires_in: LIFETIME_MS / 1000,
    });
  };
}

function memoryWatch() {
  const inUse = () => {
    globalThis.gc();
    return process.memoryUsage().heapUsed;
  };
  const before = inUse();
  let most = 0;
  return {
    look: () => {
      most = Math.max(most, inUse() - before);
    },
    most: () => most,
  };
}

function statements() {
  return Object.values(population.asked).reduce((sum, count) => sum + count, 0);
}

function secret() {
  return randomBytes(32).toString("hex");
}
