import { type DomainPrefix, memoryLock, type TokenSet } from "@retail-pos/core";
import { lockContract, storeContract } from "@retail-pos/store-contracts";
import { expect, test } from "vitest";
import { engines, newTokens } from "./support/every-store.js";

// People run the contracts on the database that they have. These retailers are called as careless tests, and careless
// keys, would call theirs.
const names = ["constructor", "prototype", "tostring", "null", "x", "shop"] as DomainPrefix[];

test.each(engines)(
  "beside real retailers storeContract passes and changes none of them, %s",
  async (engine) => {
    const { store } = await newTokens(engine);
    for (const name of names) {
      expect(await store.load(name)).toBeUndefined();
      expect(await store.save(setOf(name, "first"))).toBe(true);
      expect(await store.save(setOf(name, "real"), setOf(name, "first"))).toBe(true);
    }
    expect(await failuresOf((declare) => storeContract(declare, () => store, { shared: true }))).toEqual([]);
    for (const name of names) expect(await store.load(name)).toEqual(setOf(name, "real"));
    const { retailers = [] } = (await store.list?.({ limit: 100 })) ?? {};
    expect(retailers.map(({ domainPrefix }) => domainPrefix).sort()).toEqual(names.toSorted());
    for (const name of names) {
      await store.remove(name);
      expect(await store.load(name)).toBeUndefined();
    }
  },
);

test.each(engines)(
  "beside held locks lockContract passes, and waits for none of them, %s",
  async (engine) => {
    const { lock = memoryLock() } = await newTokens(engine);
    const keys = [...names, "__proto__", "0", "a"];
    let release = () => {};
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    let held = 0;
    const holders = keys.map((key) =>
      lock(key, async () => {
        held += 1;
        await released;
      }),
    );
    await expect.poll(() => held).toBe(keys.length);
    let entered = 0;
    const waiters = keys.map((key) =>
      lock(key, async () => {
        entered += 1;
      }),
    );
    expect(await failuresOf((declare) => lockContract(declare, () => lock, { shared: true }))).toEqual([]);
    expect(entered).toBe(0);
    release();
    await Promise.all([...holders, ...waiters]);
    expect(entered).toBe(keys.length);
  },
);

/** Runs the tests of a contract one after the other, and says which failed and why. */
async function failuresOf(
  declare: (test: (name: string, run: () => Promise<void>) => void) => void,
): Promise<string[]> {
  const declared: [name: string, run: () => Promise<void>][] = [];
  declare((name, run) => void declared.push([name, run]));
  expect(declared.length).toBeGreaterThan(10);
  const failures: string[] = [];
  for (const [name, run] of declared)
    await run().catch((error: unknown) => failures.push(`${name}: ${String(error)}`));
  return failures;
}

function setOf(domainPrefix: DomainPrefix, version: string): TokenSet {
  return {
    domainPrefix,
    access: { value: `access-${domainPrefix}` },
    refreshToken: `refresh-${domainPrefix}`,
    issuedAt: 1_900_000_000_000,
    version: `${version}-${domainPrefix}`,
  };
}
