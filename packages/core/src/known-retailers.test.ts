import { expect, test } from "vitest";
import { type DomainPrefix, parseDomainPrefix } from "./domain-prefix.js";
import { type KnownRetailers, knownRetailers, type Retailer } from "./known-retailers.js";
import type { TokenSet } from "./token-set.js";

const MINUTE_MS = 60_000;

test("a retailer stays the same object while it is known", () => {
  const { retailers } = start();
  const shop = parseDomainPrefix("shop");
  expect(retailers.get(shop)).toBeUndefined();
  expect(retailers.of(shop)).toBe(retailers.of(shop));
  expect(retailers.get(shop)).toBe(retailers.of(shop));
});

test("those in use stay, however many they are", () => {
  const { known, meet } = start();
  meet(100_000);
  expect(known()).toHaveLength(100_000);
});

test("of those that nobody asked for within a minute, ten thousand stay: the latest", () => {
  const { known, meet, time } = start();
  meet(100_000);
  time.now += MINUTE_MS;
  meet(1, "new");
  expect(known()).toHaveLength(10_000);
  expect(known().at(-1)?.domainPrefix).toBe("new-0");
  expect(known()[0]?.domainPrefix).toBe("shop-90001");
});

test("one with something to lose stays: work under way, an unsaved set, a rejected token", () => {
  const { known, meet, time } = start();
  const [looking, renewing, saving, unsaved, rejected] = meet(20_000) as Retailer[];
  Object.assign(looking as Retailer, { looking: Promise.resolve() });
  Object.assign(renewing as Retailer, { renewing: Promise.resolve() });
  Object.assign(saving as Retailer, { savingAgain: Promise.resolve() });
  Object.assign(unsaved as Retailer, { unsavedOver: [{} as TokenSet] });
  Object.assign(rejected as Retailer, { rejected: ["token"] });
  time.now += MINUTE_MS;
  meet(1, "new");
  expect(known().slice(0, 5)).toEqual([looking, renewing, saving, unsaved, rejected]);
  expect(known()).toHaveLength(10_000);
});

test("there are never more than two hundred thousand, even within a minute", () => {
  const { known, meet } = start();
  meet(500_000);
  expect(known().length).toBeLessThanOrEqual(200_000);
  expect(known().at(-1)?.domainPrefix).toBe("shop-499999");
});

/** Retailers whose copies are compared with the store as they are met. */
function start() {
  const time = { now: Date.UTC(2030, 0, 1) };
  const retailers: KnownRetailers = knownRetailers(() => time.now);
  const met: DomainPrefix[] = [];
  return {
    retailers,
    time,
    known: () => met.flatMap((domainPrefix) => retailers.get(domainPrefix) ?? []),
    meet: (count: number, name = "shop") =>
      Array.from({ length: count }, (_, index) => {
        const domainPrefix = parseDomainPrefix(`${name}-${index}`);
        met.push(domainPrefix);
        const retailer = retailers.of(domainPrefix);
        retailer.checkedAt = time.now;
        return retailer;
      }),
  };
}
