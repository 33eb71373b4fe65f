import { expect, test } from "vitest";
import { checkedStore } from "../store/checked-store.js";
import { memoryStore } from "../store/memory-store.js";
import { type DomainPrefix, parseDomainPrefix } from "../vocabulary/domain-prefix.js";
import { teller } from "../vocabulary/events.js";
import type { TokenSet } from "../vocabulary/token-set.js";
import { versionsOf } from "../vocabulary/token-set-versions.js";
import type { Deps } from "./deps.js";
import { knownRetailers } from "./known-retailers.js";
import { RetailerCache } from "./retailer-cache.js";

const MINUTE_MS = 60_000;

test("a retailer stays the same object while it is known", () => {
  const { retailers } = start();
  const shop = parseDomainPrefix("shop");
  expect(retailers.get(shop)).toBeUndefined();
  expect(retailers.of(shop)).toBe(retailers.of(shop));
  expect(retailers.get(shop)).toBe(retailers.of(shop));
});

test("those in use stay, however many they are", async () => {
  const { known, meet } = start();
  await meet(1000);
  expect(known()).toHaveLength(1000);
});

test("of those that nobody asked for within a minute, only as many as the bound stay: the latest", async () => {
  const { known, meet, time } = start();
  await meet(1000);
  time.now += MINUTE_MS;
  await meet(1, "new");
  expect(known()).toHaveLength(100);
  expect(known().at(-1)?.domainPrefix).toBe("new-0");
  expect(known()[0]?.domainPrefix).toBe("shop-901");
});

test("one with something to lose stays: work under way, an unsaved set, a rejected token", async () => {
  const { known, meet, time, store } = start();
  const [looking, renewing, loggingIn, unsaved, rejected] = await meet(200);
  store.load = () => new Promise(() => {});
  looking?.load().catch(() => {}); // it is given up after five seconds
  await undefined; // the store is asked
  void renewing?.renewOnce(10_000, () => new Promise(() => {}));
  void loggingIn?.logIn(undefined, () => new Promise(() => {}));
  store.load = async (name) => (name === "shop-3" ? set(name) : undefined);
  store.save = async () => Promise.reject(new Error("away"));
  const stored = (await unsaved?.reload()) as TokenSet;
  void unsaved?.replace(stored, { ...stored, access: { value: "b" }, refreshToken: "s", version: "2" });
  rejected?.reject(set(rejected.domainPrefix));
  time.now += MINUTE_MS;
  await meet(1, "new");
  expect(known().slice(0, 5)).toEqual([looking, renewing, loggingIn, unsaved, rejected]);
  expect(known()).toHaveLength(100);
});

test("a job leaves nothing behind of those that it alone visited, unless something would be lost", () => {
  const { retailers } = start();
  const visited = ["idle", "busy", "asked-for"].map((name) => retailers.visit(parseDomainPrefix(name)));
  const [, busy, askedFor] = visited as [RetailerCache, RetailerCache, RetailerCache];
  void busy.renewOnce(10_000, () => new Promise(() => {}));
  expect(retailers.get(askedFor.domainPrefix)).toBe(askedFor);
  for (const retailer of visited) retailers.leave(retailer);
  expect(visited.map(({ domainPrefix }) => retailers.get(domainPrefix))).toEqual([undefined, busy, askedFor]);
});

test("there are never more than the bound, even within a minute", async () => {
  const { known, meet } = start();
  await meet(5000);
  expect(known().length).toBeLessThanOrEqual(2000);
  expect(known().at(-1)?.domainPrefix).toBe("shop-4999");
});

function set(domainPrefix: DomainPrefix): TokenSet {
  return { domainPrefix, access: { value: "a" }, refreshToken: "r", issuedAt: 0, version: "1" };
}

/** Retailers whose copies are compared with the store as they are met. */
function start() {
  const time = { now: Date.UTC(2030, 0, 1) };
  const clock = () => time.now;
  const store = memoryStore();
  const deps = {
    store: checkedStore(store, versionsOf("client"), () => {}),
    clock,
    cacheMs: 10_000,
    tell: teller(undefined, clock),
    background: () => {},
  } as unknown as Deps;
  const unknown = (domainPrefix: DomainPrefix) => new RetailerCache(domainPrefix, deps);
  const retailers = knownRetailers(clock, unknown, { keptWhenIdle: 100, most: 2000 });
  const met: DomainPrefix[] = [];
  return {
    retailers,
    store,
    time,
    known: () => met.flatMap((domainPrefix) => retailers.get(domainPrefix) ?? []),
    async meet(count: number, name = "shop"): Promise<RetailerCache[]> {
      const those: RetailerCache[] = [];
      for (let index = 0; index < count; index += 1) {
        const domainPrefix = parseDomainPrefix(`${name}-${index}`);
        met.push(domainPrefix);
        const retailer = retailers.of(domainPrefix);
        await retailer.reload();
        those.push(retailer);
      }
      return those;
    },
  };
}
