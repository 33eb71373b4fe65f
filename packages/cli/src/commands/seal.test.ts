import { randomBytes } from "node:crypto";
import { memoryStore, type TokenStore } from "@retail-pos/core";
import { type SealingKey, sealedStore } from "@retail-pos/sealed-store";
import { expect, test } from "vitest";
import { moduleOf } from "../../testing/module.js";
import { clientOn, contentsOf, setOf } from "../../testing/records.js";
import { run } from "../../testing/terminal.js";

const key: SealingKey = { id: "2030-06", secret: randomBytes(32) };

const seal = (store: TokenStore, ...flags: string[]) =>
  run(["seal", ...flags, "--client", moduleOf({ store })]);

async function plainStore(...names: string[]): Promise<TokenStore> {
  const inner = memoryStore();
  for (const name of names) await inner.save(setOf(name, { scope: "products:read" }));
  return inner;
}

test("every plain record is sealed where it is, its set and version as they were: nobody has to log in", async () => {
  const names = Array.from({ length: 520 }, (_, each) => `shop-${each}`);
  const inner = await plainStore(...names);
  const before = await contentsOf(inner);
  const store = sealedStore(inner, { keys: [key] });
  const { exitCode, stdout, stderr } = await seal(store);
  expect(stdout).toBe(
    "Pass 1:\n520 sealed\n  0 failed\nPass 2:\n  0 sealed\n520 sealed already\n  0 failed\n" +
      "Everything is sealed. Nobody has to log in.\n",
  );
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
  expect(await contentsOf(store)).toEqual(before);
  expect(JSON.stringify([...(await contentsOf(inner)).values()])).not.toContain("canary");
});

test("an application that runs with the sealed store meets a plain record, is told of this command, and goes on after it", async () => {
  const store = sealedStore(await plainStore("shop"), { keys: [key] });
  const client = clientOn(store);
  await expect(client.tokens("shop").token()).rejects.toThrow(/only needs sealing: retail-pos seal$/);
  await seal(store);
  expect((await client.tokens("shop").token()).value).toBe("access-canary-shop");
});

test("--json: a line for each retailer and pass, and no second sealing", async () => {
  const inner = await plainStore("plain");
  await sealedStore(inner, { keys: [key] }).save(setOf("sealed"));
  const { stdout, stderr } = await seal(sealedStore(inner, { keys: [key] }), "--json");
  const lines = stdout.trimEnd().split("\n");
  const [first, second] = [lines.slice(0, 2), lines.slice(2)].map((pass) =>
    Object.fromEntries(pass.map((line) => Object.values(JSON.parse(line)))),
  );
  expect(first).toEqual({ plain: "sealed", sealed: "already" });
  expect(second).toEqual({ plain: "already", sealed: "already" });
  expect(stderr).toContain("Nobody has to log in.");
});

test("a login at the same moment wins, and is looked at again", async () => {
  const inner = await plainStore("one", "two");
  const login = setOf("two", { version: "of-the-login" });
  let isLoggedIn = false;
  const save: TokenStore["save"] = async (next, replacing) => {
    if (next.domainPrefix === login.domainPrefix && !isLoggedIn) {
      isLoggedIn = true;
      await sealedStore(inner, { keys: [key] }).save(login);
    }
    return inner.save(next, replacing);
  };
  const { exitCode, stdout } = await seal(sealedStore({ ...inner, save }, { keys: [key] }));
  expect(exitCode).toBe(0);
  expect(stdout).toContain("1 changed meanwhile");
  expect(await sealedStore(inner, { keys: [key] }).load(login.domainPrefix)).toEqual(login);
});

test("beside a writer of plain tokens it gives up, and says so: exit code 1", async () => {
  const inner = await plainStore("one", "two");
  let renewals = 0;
  const list: TokenStore["list"] = async (ask) => {
    await inner.save(setOf("two", { version: `renewed-${++renewals}` }));
    return (await inner.list?.(ask)) as never;
  };
  const { exitCode, stdout } = await seal(sealedStore({ ...inner, list }, { keys: [key] }));
  expect(exitCode).toBe(1);
  expect(stdout).toMatch(/Another process still stores plain tokens\./);
});

test("a record that is no token set is named, and the others are sealed: exit code 1, no secret", async () => {
  const inner = await plainStore("one", "two");
  const two = setOf("two");
  const load: TokenStore["load"] = async (domainPrefix) => {
    const set = await inner.load(domainPrefix);
    return domainPrefix === two.domainPrefix ? ({ ...set, version: 7 } as never) : set;
  };
  const { exitCode, stdout, stderr } = await seal(sealedStore({ ...inner, load }, { keys: [key] }));
  expect(exitCode).toBe(1);
  expect(stderr).toMatch(/^two: What is stored .*version/);
  expect(stdout).toMatch(/could not be sealed\. They are as they were\.\n$/);
  expect(stdout + stderr).not.toContain("canary");
  expect(await inner.load(two.domainPrefix)).toMatchObject({ refreshToken: two.refreshToken });
});

test("what is sealed already is opened: a record that no key opens is named, exit code 1", async () => {
  const inner = await plainStore("plain");
  await sealedStore(inner, { keys: [key] }).save(setOf("of-another-key"));
  const young = { id: "2031-01", secret: randomBytes(32) };
  const { exitCode, stdout, stderr } = await seal(sealedStore(inner, { keys: [young] }));
  expect(exitCode).toBe(1);
  expect(stderr).toMatch(/^of-another-key: .*"2030-06", which is not among keys/);
  expect(stdout).toMatch(/^Pass 1:\n1 sealed\n1 failed\n/);
  expect(stdout).toMatch(/Records are left that could not be opened, or could not be sealed\./);
});

test("an empty store is no failure", async () => {
  const { exitCode, stdout } = await seal(sealedStore(memoryStore(), { keys: [key] }));
  expect({ exitCode, stdout }).toEqual({
    exitCode: 0,
    stdout: "The store is empty: nothing is to be sealed.\n",
  });
});

test.each([
  ["a store that is not sealed", memoryStore(), /store .* has no keyOf\(\), seal\(\)/],
  [
    "a store that saves plain records",
    sealedStore(memoryStore(), { keys: [key], plain: "write" }),
    /saves plain records: every process needs plain: "read"/,
  ],
  [
    "a store that cannot list",
    sealedStore({ ...memoryStore(), list: undefined } as never, { keys: [key] }),
    /has no list\(\)/,
  ],
])("%s: exit code 2", async (_what, store, words) => {
  const { exitCode, stderr } = await seal(store);
  expect(exitCode).toBe(2);
  expect(stderr).toMatch(words);
});
