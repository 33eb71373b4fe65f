import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { openParts, type Parts } from "./parts.js";
import type { Records } from "./records.js";
import { settingsFrom } from "./settings.js";

const NOW = Date.UTC(2026, 0, 5);
const product = { name: "House espresso", sku: "HAR-001", price: "9.50", currency: "EUR", inStock: 64 };
let folder: string;
let parts: Parts;
let records: Records;

const open = () => openParts(settingsFrom({ DATABASE_FILE: join(folder, "stores.sqlite") }));

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "many-stores-"));
  parts = open();
  records = parts.records;
});
afterEach(() => {
  parts.close();
  rmSync(folder, { recursive: true });
});

function idOf(email: string): string {
  const person = records.addPerson(email, "hashed");
  if (!person) throw new Error(`${email} has an account already`);
  return person.id;
}

test("an e-mail address has one account", () => {
  const person = records.addPerson("ada@example.com", "hashed");
  expect(person).toEqual({ id: expect.any(String), email: "ada@example.com" });
  expect(records.addPerson("ada@example.com", "another")).toBeUndefined();
  expect(records.personByEmail("ada@example.com")).toEqual({ ...person, password: "hashed" });
  expect(records.personByEmail("bob@example.com")).toBeUndefined();
  expect(records.person(person?.id ?? "")).toEqual(person);
  expect(records.person("nobody")).toBeUndefined();
});

test("a store is its members', and nobody else's", () => {
  const [ada, bob] = [idOf("ada@example.com"), idOf("bob@example.com")];
  records.addMembership(ada, "rosas-bikes");
  records.addMembership(ada, "rosas-bikes"); // connected once more
  const store = { domainPrefix: "rosas-bikes", name: "rosas-bikes", members: 1, products: 0 };
  expect(records.storeOf(ada, "rosas-bikes")).toEqual({ ...store, pulledAt: null, failures: 0 });
  expect(records.storeOf(bob, "rosas-bikes")).toBeUndefined();
  expect(records.storesOf(bob)).toEqual([]);

  records.addMembership(bob, "rosas-bikes");
  expect(records.countMembers("rosas-bikes")).toBe(2);
  records.removeMembership(ada, "rosas-bikes");
  expect(records.storesOf(ada)).toEqual([]);
  expect(records.storesOf(bob)).toMatchObject([{ members: 1 }]);
  expect(() => records.addMembership("no such person", "plant-room")).toThrow(/FOREIGN KEY/);
  expect(records.allStores()).toEqual(["rosas-bikes"]);
});

test("stores come by name, and without one by domain prefix", () => {
  const ada = idOf("ada@example.com");
  for (const store of ["c", "a", "b"]) records.addMembership(ada, store);
  records.nameStore("c", "About coffee");
  expect(records.storesOf(ada).map(({ name }) => name)).toEqual(["About coffee", "a", "b"]);
  expect(records.allStores()).toEqual(["a", "b", "c"]);
});

test("a pull replaces the one before, and failures are counted since", () => {
  const ada = idOf("ada@example.com");
  records.addMembership(ada, "rosas-bikes");
  const many = Array.from({ length: 2500 }, (_, index) => ({ ...product, name: `Bolt ${index}` }));
  records.savePull("rosas-bikes", many, NOW);
  expect(records.productsOf("rosas-bikes")).toEqual(many);
  records.notePullFailed("rosas-bikes");
  records.notePullFailed("rosas-bikes");
  const failed = { products: 2500, pulledAt: NOW, failures: 2 };
  expect(records.storeOf(ada, "rosas-bikes")).toMatchObject(failed);
  records.savePull("rosas-bikes", [{ ...product, inStock: 0.25 }], NOW + 1);
  expect(records.productsOf("rosas-bikes")).toEqual([{ ...product, inStock: 0.25 }]);
  const pulled = { products: 1, pulledAt: NOW + 1, failures: 0 };
  expect(records.storeOf(ada, "rosas-bikes")).toMatchObject(pulled);
});

test("nothing is left of a store that was removed, and a pull that comes later does not bring it back", () => {
  const ada = idOf("ada@example.com");
  records.addMembership(ada, "rosas-bikes");
  records.removeStore("rosas-bikes");
  records.savePull("rosas-bikes", [product], NOW);
  expect(records.storesOf(ada)).toEqual([]);
  expect(records.allStores()).toEqual([]);
  expect(records.productsOf("rosas-bikes")).toEqual([]);
});

test("another process beside it finds everything", () => {
  const ada = idOf("ada@example.com");
  const other = open();
  expect(other.records.personByEmail("ada@example.com")).toMatchObject({ id: ada });
  other.close();
});
