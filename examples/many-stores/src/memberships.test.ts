import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type Site, startSite } from "../testing/site.js";
import { memberships } from "./memberships.js";
import { openParts } from "./parts.js";
import { settingsFrom } from "./settings.js";

const store = "harbour-coffee";

describe("who may act for which store", () => {
  let site: Site;
  let ada: string;
  let bob: string;

  beforeEach(async () => {
    site = await startSite();
    ada = await idOf("ada@example.com");
    bob = await idOf("bob@example.com");
  });
  afterEach(() => site.close());

  async function idOf(email: string): Promise<string> {
    const person = site.records.addPerson(email, "hashed");
    if (!person) throw new Error(`${email} is there already`);
    return person.id;
  }

  /** What the strategy does once the code is traded: verify first, then the tokens are kept. */
  async function connect(personId: string): Promise<void> {
    const tokens = await site.client.exchange(
      store,
      site.sandbox.approve(store).searchParams.get("code") ?? "",
    );
    await site.memberships.join(personId, store);
    await site.client.connect(tokens);
  }

  /** Another process of the application. */
  async function elsewhere() {
    const { memberships, close } = openParts(settingsFrom(site.env), { cacheMs: 0 });
    return { ...memberships, close };
  }

  const isUsable = async () => (await site.client.retailer(store).fetch("api/products")).ok;

  test("of two who disconnect at the same instant, in two processes, one is the last", async () => {
    const other = await elsewhere();
    for (let round = 0; round < 5; round += 1) {
      await connect(ada);
      await connect(bob);
      await Promise.all([site.memberships.leave(ada, store), other.leave(bob, store)]);
      expect(await site.client.status(store)).toBeUndefined();
      expect(site.records.allStores()).toEqual([]);
    }
    other.close();
  });

  test("one who connects while the last one disconnects, in another process, stays connected", async () => {
    const other = await elsewhere();
    for (let round = 0; round < 5; round += 1) {
      await connect(ada);
      await Promise.all([other.leave(ada, store), connect(bob)]);
      expect(await isUsable()).toBe(true);
      expect(site.records.storeOf(bob, store)).toBeDefined();
      await site.memberships.leave(bob, store);
    }
    other.close();
  });

  test("tokens that come after the last one's membership was written are not removed", async () => {
    await connect(ada);
    const tokens = await site.client.exchange(
      store,
      site.sandbox.approve(store).searchParams.get("code") ?? "",
    );
    await site.memberships.join(bob, store);
    await site.memberships.leave(ada, store); // between bob's membership and bob's tokens
    await site.client.connect(tokens);
    expect(await isUsable()).toBe(true);
    expect(site.records.storesOf(bob)).toHaveLength(1);
  });

  test("a process that is killed after the tokens are gone leaves a membership, which can be left again", async () => {
    await connect(ada);
    await site.client.disconnect(store); // and no step more
    expect(site.records.storesOf(ada)).toHaveLength(1);
    await site.memberships.leave(ada, store);
    expect(site.records.allStores()).toEqual([]);
  });

  test("if the tokens cannot be removed, the membership stays, and with it the button", async () => {
    await connect(ada);
    const disconnect = async () => {
      throw new Error("the store is away");
    };
    const broken = memberships({ disconnect }, site.records, site.tokens.lock);
    await expect(broken.leave(ada, store)).rejects.toThrow("the store is away");
    expect(site.records.storeOf(ada, store)).toBeDefined();
    expect(await isUsable()).toBe(true);
  });

  test("whoever has no part in a store can disconnect nobody's", async () => {
    await connect(ada);
    await site.memberships.leave(bob, store);
    expect(await isUsable()).toBe(true);
  });

  test("tokens that nobody has are swept, and somebody's are not", async () => {
    await connect(ada);
    expect(await site.memberships.sweep(store)).toBe(false);
    expect(await isUsable()).toBe(true);
    const tokens = await site.client.exchange(
      store,
      site.sandbox.approve(store).searchParams.get("code") ?? "",
    );
    await site.memberships.leave(ada, store);
    await site.client.connect(tokens);
    expect(await site.memberships.sweep(store)).toBe(true);
    expect(await site.client.status(store)).toBeUndefined();
  });
});
