// A module for --client with a million retailers that are made when they are asked for: nothing here grows. With
// --expose-gc it says on stderr, at the end, what the heap was, garbage collected, at each twentieth of the list.
import { writeSync } from "node:fs";
import { parseDomainPrefix, retailPos } from "@retail-pos/core";
import { storePages } from "@retail-pos/core/authoring";

const COUNT = Number(process.env.COUNT ?? 1_000_000);
const now = Date.now();
/** What a command must not do: keep each name. The test shows that this is seen. */
const hoard = process.env.HOARD ? [] : undefined;
const heaps = [];
if (globalThis.gc) process.on("exit", () => writeSync(2, `\nHeap: ${heaps.join(" ")}\n`));
const pages = storePages("generated");
const nameOf = (number) => parseDomainPrefix(`shop-${number}`);
const numberOf = (name) => Number(name.slice("shop-".length));
const setOf = (number) => ({
  domainPrefix: nameOf(number),
  access: { value: `access-${number}`, expiresAt: now + 86_400_000 },
  refreshToken: `refresh-${number}`,
  issuedAt: now,
  version: `version-${number}`,
  ...(number % 2 === 0 && { refusedAt: now }),
});

function heapNow() {
  globalThis.gc();
  return process.memoryUsage().heapUsed;
}

/** A byte for each retailer: 0 if there is no record, else the number of the key that it is under. */
function generated(byte) {
  const keys = new Uint8Array(COUNT).fill(byte);
  return {
    keys,
    async load(name) {
      const number = numberOf(name);
      return keys[number] ? setOf(number) : undefined;
    },
    async save({ domainPrefix }, replacing) {
      const number = numberOf(domainPrefix);
      if (replacing && !keys[number]) return false;
      keys[number] = 2;
      return true;
    },
    async remove(name) {
      keys[numberOf(name)] = 0;
    },
    async list(ask) {
      const { limit, position = "0" } = pages.asked(ask);
      const retailers = [];
      let number = Number(position);
      if (globalThis.gc && number >= (heaps.length / 20) * COUNT) heaps.push(heapNow());
      for (; number < COUNT && retailers.length < limit; number += 1) {
        if (!keys[number]) continue;
        const { domainPrefix, access, issuedAt, refusedAt } = setOf(number);
        hoard?.push(domainPrefix);
        retailers.push({ domainPrefix, issuedAt, expiresAt: access.expiresAt, refusedAt });
      }
      return { retailers, ...(number < COUNT && { cursor: pages.cursorAt(String(number)) }) };
    },
    firstKey: "new",
    keyOf: async (name) => ["", "old", "new"][keys[numberOf(name)]] || undefined,
    seal: async () => "sealed",
  };
}

export const store = generated(1);
export const from = store;
export const to = generated(0);
export const client = retailPos({
  baseUrl: "http://localhost:9/{domain_prefix}",
  clientId: "application",
  clientSecret: "none",
  store,
});
