// One contestant, called all through the block and a little longer.
import { setTimeout as sleep } from "node:timers/promises";
import { contestant } from "../../contestants/index.mjs";
import { answering } from "../../lib/process.mjs";
import { APPLICATION, tokenServiceAt } from "../../lib/service.mjs";

const APART_MS = 10;
const LONGER_MS = 1500;

answering(async ({ file, address, retailer, blockedMs }) => {
  const service = tokenServiceAt(address);
  const [login] = await service.issue([retailer], -1);
  const { create } = await contestant(file);
  const { baseUrl, tokenUrl } = service;
  const setup = { ...APPLICATION, baseUrl, tokenUrl, tokens: new Map([[retailer, login]]) };
  const { bearer } = await create(setup);

  const values = new Set();
  let firstAt;
  async function call() {
    try {
      values.add(await bearer(retailer));
      firstAt ??= Date.now();
    } catch {
      // Blocked.
    }
  }

  const { resetAt } = await service.limit(blockedMs);
  const calls = [];
  const start = Date.now();
  while (Date.now() < resetAt + LONGER_MS) {
    while (calls.length * APART_MS <= Date.now() - start) calls.push(call());
    await sleep(start + calls.length * APART_MS - Date.now());
  }
  await Promise.all(calls);
  return { resetAt, firstAt, values: [...values] };
});
