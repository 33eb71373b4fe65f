import { randomBytes } from "node:crypto";
import { memoryStore, type TokenStore } from "@retail-pos/core";
import { type SealedStore, type SealingKey, sealedStore } from "@retail-pos/sealed-store";
import { expect, test } from "vitest";
import { moduleOf } from "../../testing/module.js";
import { contentsOf, setOf } from "../../testing/records.js";
import { run } from "../../testing/terminal.js";

const old: SealingKey = { id: "2029-12", secret: randomBytes(32) };
const young: SealingKey = { id: "2030-06", secret: randomBytes(32) };

const reseal = (store: TokenStore, ...flags: string[]) =>
  run(["reseal", ...flags, "--client", moduleOf({ store })]);

async function sealedWith(key: SealingKey, count: number, inner = memoryStore()): Promise<TokenStore> {
  const store = sealedStore(inner, { keys: [key] });
  for (let each = 0; each < count; each += 1)
    await store.save(setOf(`${key.id}-${each}`, { refusedAt: each }));
  return inner;
}

/** How many records are under which key. */
async function keysOf(store: SealedStore): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const name of (await contentsOf(store)).keys()) {
    const key = String(await store.keyOf(name));
    counts[key] = (counts[key] ?? 0) + 1;
  }
  return counts;
}

test("everything ends under the first key, the sets and their versions as they were", async () => {
  const inner = await sealedWith(young, 30, await sealedWith(old, 520));
  const store = sealedStore(inner, { keys: [young, old] });
  const before = await contentsOf(store);
  const { exitCode, stdout } = await reseal(store);
  expect(exitCode).toBe(0);
  expect(stdout).toMatch(
    /Everything is under the key "2030-06"\. If no process .+, the others can be taken out\.\n$/,
  );
  expect(await keysOf(store)).toEqual({ "2030-06": 550 });
  expect(await contentsOf(sealedStore(inner, { keys: [young] }))).toEqual(before);
});

test.each([
  ["five", 5, 0],
  ["one", 1, 0],
  ["two beside three under the first key", 2, 3],
])("%s under the second key are counted, every one", async (_count, second, first) => {
  const inner = await sealedWith(young, first, await sealedWith(old, second));
  const { stdout } = await reseal(sealedStore(inner, { keys: [young, old] }));
  expect(stdout).toMatch(
    new RegExp(
      `^Pass 1:\\n${first} under the first key already\\n${second} sealed anew\\n0 failed\\nPass 2:`,
    ),
  );
});

test("--json: a line for each retailer and pass", async () => {
  const store = sealedStore(await sealedWith(old, 2), { keys: [young, old] });
  const { stdout, stderr } = await reseal(store, "--json");
  const outcomes = stdout
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line).outcome);
  expect(outcomes).toEqual(["resealed", "resealed", "sealed", "sealed"]);
  expect(stderr).toContain("Everything is under the key");
});

test("beside a writer that seals with the old key it gives up, and says so: exit code 1", async () => {
  const inner = await sealedWith(old, 50);
  const behind = sealedStore(inner, { keys: [old, young] });
  const store = sealedStore(inner, { keys: [young, old] });
  let renewals = 0;
  const list: TokenStore["list"] = async (ask) => {
    const page = await store.list?.(ask);
    // A process that was not deployed anew renews a retailer now and then.
    await behind.save(setOf("2029-12-7", { version: `renewed-${++renewals}` }));
    return page as NonNullable<typeof page>;
  };
  const { exitCode, stdout } = await reseal({ ...store, list } as TokenStore);
  expect(exitCode).toBe(1);
  expect(stdout).toMatch(/Another process still seals with another key than "2030-06"\./);
});

test("a renewal at the same moment wins, and is looked at again", async () => {
  const inner = await sealedWith(old, 3);
  const store = sealedStore(inner, { keys: [young, old] });
  const renewed = { ...setOf("2029-12-1"), version: "renewed" };
  let isRenewed = false;
  const save: TokenStore["save"] = async (next, replacing) => {
    if (next.domainPrefix === renewed.domainPrefix && !isRenewed) {
      isRenewed = true;
      await sealedStore(inner, { keys: [old] }).save(renewed);
    }
    return store.save(next, replacing);
  };
  const { exitCode } = await reseal({ ...store, save } as TokenStore);
  expect(exitCode).toBe(0);
  expect(await store.load(renewed.domainPrefix)).toEqual(renewed);
  expect(await keysOf(store)).toEqual({ "2030-06": 3 });
});

test("records under a key that is not there any more are named: exit code 1, the others are sealed anew", async () => {
  const gone: SealingKey = { id: "2025-01", secret: randomBytes(32) };
  const inner = await sealedWith(gone, 1, await sealedWith(old, 5));
  const store = sealedStore(inner, { keys: [young, old] });
  const { exitCode, stdout, stderr } = await reseal(store);
  expect(exitCode).toBe(1);
  expect(stderr).toMatch(/2025-01-0: .*the key "2025-01", which is not among keys/);
  expect(stdout).toContain("keep the keys that they are under");
  expect(await store.keyOf("2029-12-4")).toBe("2030-06");
});

test("the passes are numbered, and what fails in each of them is told once", async () => {
  const gone: SealingKey = { id: "2025-01", secret: randomBytes(32) };
  const inner = await sealedWith(gone, 1, await sealedWith(old, 2));
  const { exitCode, stdout, stderr } = await reseal(sealedStore(inner, { keys: [young, old] }));
  expect(stdout).toBe(
    "Pass 1:\n0 under the first key already\n2 sealed anew\n1 failed\n" +
      "Pass 2:\n2 under the first key already\n1 failed\n" +
      "Records are left that could not be sealed anew: keep the keys that they are under.\n",
  );
  expect(stderr.match(/^2025-01-0: /gm)).toHaveLength(1);
  expect(exitCode).toBe(1);
});

test("each record whose key is missing is named, with the advice to give that key: exit code 1", async () => {
  const inner = await sealedWith(old, 3);
  const { exitCode, stdout, stderr } = await reseal(sealedStore(inner, { keys: [young] }));
  const lines = stderr.trimEnd().split("\n");
  expect(lines).toHaveLength(3);
  for (const line of lines)
    expect(line).toMatch(/^2029-12-\d: .*"2029-12", which is not among keys\. Give that/);
  expect(stdout).toContain("3 failed\n");
  expect(exitCode).toBe(1);
});

test("if the first hundred fail for it, it stops there", async () => {
  const inner = await sealedWith(old, 150);
  const { exitCode, stderr } = await reseal(sealedStore(inner, { keys: [young] }));
  expect(stderr).toMatch(
    /\nretail-pos reseal: The first 100 failed, all of them; stopped\. First: What is stored /,
  );
  expect(stderr.match(/^2029-12-/gm)?.length).toBeLessThan(150);
  expect(exitCode).toBe(1);
});

test("a store that is away is not called one whose records cannot be opened", async () => {
  const store = sealedStore(await sealedWith(old, 3), { keys: [young, old] });
  const load: TokenStore["load"] = () => Promise.reject(new Error("connect ECONNREFUSED"));
  const { exitCode, stderr } = await reseal({ ...store, load } as TokenStore);
  expect(stderr).toMatch(/^2029-12-0: The store could not load /);
  expect(exitCode).toBe(1);
});

test("plain records are named, and stay as they are", async () => {
  const inner = memoryStore();
  await inner.save(setOf("plain"));
  const { exitCode, stderr } = await reseal(sealedStore(inner, { keys: [young] }));
  expect(exitCode).toBe(1);
  expect(stderr).toMatch(/^plain: .* is not sealed\. .*retail-pos seal$/m);
  expect(stderr).not.toContain("canary");
  expect(await inner.load(setOf("plain").domainPrefix)).toEqual(setOf("plain"));
});

test("a record under the first key that it does not open is named too: exit code 1", async () => {
  const inner = await sealedWith(young, 2);
  const { exitCode, stdout, stderr } = await reseal(
    sealedStore(inner, { keys: [{ id: young.id, secret: randomBytes(32) }] }),
  );
  expect(stderr).toMatch(/^2030-06-0: .* the key "2030-06" has another secret now/m);
  expect(stderr).toMatch(/^2030-06-1: /m);
  expect(stdout).toContain("2 failed\nRecords are left");
  expect(exitCode).toBe(1);
});

test("a store that saves plain records: exit code 2, and nothing is unsealed", async () => {
  const inner = await sealedWith(old, 1);
  const { exitCode, stderr } = await reseal(sealedStore(inner, { keys: [young, old], plain: "write" }));
  expect(exitCode).toBe(2);
  expect(stderr).toMatch(/saves plain records: every process needs plain: "read"/);
  expect(await sealedStore(inner, { keys: [old] }).keyOf("2029-12-0")).toBe("2029-12");
});

test("an empty store is no failure", async () => {
  expect((await reseal(sealedStore(memoryStore(), { keys: [young] }))).exitCode).toBe(0);
});

test("a store that is not sealed: exit code 2", async () => {
  const { exitCode, stderr } = await reseal(memoryStore());
  expect(exitCode).toBe(2);
  expect(stderr).toMatch(/store .* has no keyOf\(\)/);
});
