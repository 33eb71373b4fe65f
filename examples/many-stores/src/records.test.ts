import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type EmptyDatabase, type Engine, engines, hasPostgres } from "../testing/engines.js";
import { type Database, openDatabase } from "./database.js";
import { Records } from "./records.js";

const NOW = Date.UTC(2026, 0, 5);
const product = { name: "House espresso", sku: "HAR-001", price: "9.50", currency: "EUR", inStock: 64 };

describe.each<Engine>(["sqlite", "postgres"])("the application's tables in %s", (engine) => {
  describe.skipIf(engine === "postgres" && !hasPostgres)("", () => {
    let empty: EmptyDatabase;
    let database: Database;
    let records: Records;

    beforeEach(async () => {
      empty = await engines[engine]();
      database = await openDatabase(empty);
      records = new Records(database.sql);
    });
    afterEach(async () => {
      await database.close();
      await empty.remove();
    });

    async function addPerson(email: string): Promise<string> {
      const person = await records.addPerson(email, "hashed", NOW);
      if (!person) throw new Error(`${email} is there already`);
      return person.id;
    }

    test("an e-mail address has one account, whoever asks first", async () => {
      const both = await Promise.all([1, 2].map(() => records.addPerson("ada@example.com", "hashed", NOW)));
      const [person] = both.filter((one) => one !== undefined);
      expect(both.filter((one) => one === undefined)).toHaveLength(1);
      expect(await records.personByEmail("ada@example.com")).toEqual({ person, password: "hashed" });
      expect(await records.personByEmail("bob@example.com")).toBeUndefined();
    });

    test("a login is somebody's until it ends or is removed", async () => {
      const ada = await addPerson("ada@example.com");
      const [one, other] = [await records.addLogin(ada, NOW + 2), await records.addLogin(ada, NOW + 2)];
      expect(await records.personOfLogin(one, NOW + 1)).toEqual({ id: ada, email: "ada@example.com" });
      expect(await records.personOfLogin(one, NOW + 2)).toBeUndefined();
      expect(await records.personOfLogin(ada, NOW)).toBeUndefined();
      await records.removeLogin(one);
      expect(await records.personOfLogin(one, NOW)).toBeUndefined();
      await records.forgetEnded(NOW + 1);
      expect(await records.personOfLogin(other, NOW)).toMatchObject({ id: ada });
      await records.forgetEnded(NOW + 2);
      expect(await records.personOfLogin(other, NOW)).toBeUndefined();
    });

    test("a store is its members', and nobody else's", async () => {
      const [ada, bob] = [await addPerson("ada@example.com"), await addPerson("bob@example.com")];
      await records.addMembership(ada, "rosas-bikes", NOW);
      await records.addMembership(ada, "rosas-bikes", NOW + 1); // connected once more
      expect(await records.storeOf(ada, "rosas-bikes")).toEqual({
        domainPrefix: "rosas-bikes",
        name: "rosas-bikes",
        members: 1,
        products: 0,
        pulledAt: undefined,
        problem: undefined,
        failures: 0,
      });
      expect(await records.storeOf(bob, "rosas-bikes")).toBeUndefined();
      expect(await records.storesOf(bob)).toEqual([]);
      expect(await records.isMember(bob, "rosas-bikes")).toBe(false);

      await records.addMembership(bob, "rosas-bikes", NOW);
      expect(await records.countMembers("rosas-bikes")).toBe(2);
      await records.removeMembership(ada, "rosas-bikes");
      expect(await records.storesOf(ada)).toEqual([]);
      expect(await records.storesOf(bob)).toMatchObject([{ members: 1 }]);
    });

    test("stores come by name, and without one by domain prefix", async () => {
      const ada = await addPerson("ada@example.com");
      for (const store of ["c", "a", "b"]) await records.addMembership(ada, store, NOW);
      await records.nameStore("c", "About coffee");
      const stores = await records.storesOf(ada);
      expect(stores.map(({ name }) => name)).toEqual(["About coffee", "a", "b"]);
      expect(await records.allStores()).toEqual(["a", "b", "c"]);
    });

    test("a pull is kept whole, in the place of the one before, however long", async () => {
      const ada = await addPerson("ada@example.com");
      await records.addMembership(ada, "rosas-bikes", NOW);
      const many = Array.from({ length: 250 }, (_, index) => ({ ...product, name: `Bolt ${index}` }));
      await records.savePull("rosas-bikes", many, NOW);
      expect(await records.productsOf("rosas-bikes", 1000)).toEqual(many);
      await records.notePullFailed("rosas-bikes", "tomorrow");
      await records.notePullFailed("rosas-bikes", "log_in_again");
      expect(await records.storeOf(ada, "rosas-bikes")).toMatchObject({
        products: 250,
        pulledAt: NOW,
        problem: "log_in_again",
        failures: 2,
      });
      await records.savePull("rosas-bikes", [{ ...product, inStock: 0.25 }], NOW + 1);
      expect(await records.productsOf("rosas-bikes", 1000)).toEqual([{ ...product, inStock: 0.25 }]);
      const mended = { products: 1, pulledAt: NOW + 1, problem: undefined, failures: 0 };
      expect(await records.storeOf(ada, "rosas-bikes")).toMatchObject(mended);
    });

    test("a pull that cannot be kept leaves the one before", async () => {
      const ada = await addPerson("ada@example.com");
      await records.addMembership(ada, "rosas-bikes", NOW);
      await records.savePull("rosas-bikes", [product], NOW);
      const unnamed = { ...product, name: null as unknown as string };
      await expect(records.savePull("rosas-bikes", [product, unnamed], NOW + 1)).rejects.toThrow(/null/i);
      expect(await records.productsOf("rosas-bikes", 1000)).toEqual([product]);
      await records.savePull("rosas-bikes", [], NOW + 2); // nothing is left open behind it
      expect(await records.productsOf("rosas-bikes", 1000)).toEqual([]);
    });

    test("of a store that was removed nothing is left", async () => {
      const ada = await addPerson("ada@example.com");
      await records.addMembership(ada, "rosas-bikes", NOW);
      await records.savePull("rosas-bikes", [product], NOW);
      await records.removeStore("rosas-bikes");
      expect(await records.storesOf(ada)).toEqual([]);
      expect(await records.allStores()).toEqual([]);
      expect(await records.productsOf("rosas-bikes", 1000)).toEqual([]);
    });

    test("attempts are counted one by one, also at once, and begin anew when their time is over", async () => {
      const count = (now: number) => records.countAttempt("ada", 1000, now);
      const tries = (await Promise.all(Array.from({ length: 20 }, () => count(NOW)))).map(
        ({ tries }) => tries,
      );
      expect(tries.sort((one, other) => one - other)).toEqual(
        Array.from({ length: 20 }, (_, index) => index + 1),
      );
      expect(await count(NOW + 999)).toEqual({ tries: 21, endsAt: NOW + 1000 });
      expect(await count(NOW + 1000)).toEqual({ tries: 1, endsAt: NOW + 2000 });
      await records.forgetEnded(NOW + 1999);
      expect(await count(NOW + 1000)).toMatchObject({ tries: 2 });
      await records.forgetEnded(NOW + 2000);
      expect(await count(NOW)).toMatchObject({ tries: 1 });
      await records.forgetAttempts("ada");
      expect(await count(NOW)).toMatchObject({ tries: 1 });
    });

    test("whoever opens it once more finds everything, also beside another process", async () => {
      const ada = await addPerson("ada@example.com");
      const others = await Promise.all([openDatabase(empty), openDatabase(empty)]);
      for (const other of others) {
        expect(await new Records(other.sql).personByEmail("ada@example.com")).toMatchObject({
          person: { id: ada },
        });
        await other.close();
      }
    });
  });
});
