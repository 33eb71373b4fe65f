// One contestant, called at a steady pace.
import { setImmediate, setTimeout as sleep } from "node:timers/promises";
import { contestant } from "../../contestants/index.mjs";
import { answering } from "../../lib/process.mjs";
import { APPLICATION, tokenServiceAt } from "../../lib/service.mjs";

const RETAILER = "corner-store";
const APART_MS = 5;

answering(async ({ file, address, lifetimeMs, durationMs }) => {
  const service = tokenServiceAt(address);
  const [login] = await service.issue([RETAILER], lifetimeMs);
  const { create } = await contestant(file);
  const { baseUrl, tokenUrl } = service;
  // As much ahead as ours: nobody hands out what ends on its way to the API.
  const marginMs = lifetimeMs / 10;
  const setup = { ...APPLICATION, baseUrl, tokenUrl, tokens: new Map([[RETAILER, login]]), marginMs };
  const { bearer } = await create(setup);

  const waits = [];
  /** When each bearer was handed out. */
  const handedOut = new Map();
  let waited = 0;
  let failed = 0;

  async function call() {
    const start = performance.now();
    let isAnswered = false;
    // What needs no timer, no file and no network is there before the event loop turns.
    setImmediate().then(() => {
      if (!isAnswered) waited += 1;
    });
    try {
      const value = await bearer(RETAILER);
      if (!handedOut.has(value)) handedOut.set(value, []);
      handedOut.get(value).push(Date.now());
    } catch {
      failed += 1;
    }
    isAnswered = true;
    waits.push(performance.now() - start);
  }

  const calls = [];
  const start = performance.now();
  while (performance.now() - start < durationMs) {
    // By the clock and not by counting: after a pause of the machine the calls of the pause come at once.
    while (calls.length * APART_MS <= performance.now() - start) calls.push(call());
    await sleep(start + calls.length * APART_MS - performance.now());
  }
  await Promise.all(calls);
  return { calls: calls.length, waits, waited, handedOut, failed };
});
