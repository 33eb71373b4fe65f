import { randomBytes } from "node:crypto";
import { memoryStore, type TokenStore } from "@retail-pos/core";
import { sealedStore } from "@retail-pos/sealed-store";
import { describe, expect, test } from "vitest";
import { DAY_MS, failureOf, start } from "../../../core/testing/fake-service.js";
import { moduleOf } from "../../testing/module.js";
import { contentsOf, NOON, setOf } from "../../testing/records.js";
import { run } from "../../testing/terminal.js";

const keys = [{ id: "2030-06", secret: randomBytes(32) }];
const plain = (store: TokenStore) => store;
const sealed = (store: TokenStore) => sealedStore(store, { keys });

const LAST_RUN =
  "Once the application uses the new store, run it one last time: " +
  "that brings over what a straggler renewed in the old one.";

const copy = (from: TokenStore, to: TokenStore, ...flags: string[]) =>
  run(["copy", ...flags, "--client", moduleOf({ from, to })]);

async function stored(names: readonly string[]): Promise<TokenStore> {
  const store = memoryStore();
  for (const name of names) await store.save(setOf(name));
  return store;
}

describe.each([
  ["plain", plain],
  ["sealed", sealed],
])("from a %s store", (_from, wrapFrom) => {
  test.each([
    ["plain", plain],
    ["sealed", sealed],
  ])(
    "to a %s one: the first run copies all and says to run it again, the second finds nothing",
    async (_to, wrapTo) => {
      const [from, to] = [wrapFrom(memoryStore()), wrapTo(memoryStore())];
      for (let each = 0; each < 520; each += 1) await from.save(setOf(`shop-${each}`, { refusedAt: each }));

      const first = await copy(from, to);
      expect(first.exitCode).toBe(0);
      expect(first.stdout).toBe(
        "520 copied\n  0 failed\n" +
          `Run it again after everything that writes to the old store has stopped, until it copies none.\n${LAST_RUN}\n`,
      );
      expect(await contentsOf(to)).toEqual(await contentsOf(from));

      const second = await copy(from, to);
      expect(second.exitCode).toBe(0);
      expect(second.stdout).toMatch(
        /^ {2}0 copied\n520 the same in both\n {2}0 failed\nNothing was left to copy\. .* may use the new one\.\n/,
      );
      expect(second.stdout).toContain(LAST_RUN);
    },
  );
});

test("a renewal that ends after the last run costs no login: one more run, beside the application, brings it over", async () => {
  const [from, to] = [memoryStore(), memoryStore()];
  const old = start({ store: from });
  await old.login("other");
  await old.login();
  old.time.now += 2 * DAY_MS;
  const straggler = old.service.holdNext();
  const renewing = old.value();
  await expect.poll(() => old.service.spent()).toEqual(["refresh-shop-1"]);
  expect((await copy(from, to)).stdout).toMatch(/^2 copied\n/);
  expect((await copy(from, to)).stdout).toContain(LAST_RUN);

  straggler.release();
  expect(await renewing).toBe("access-shop-2");
  const moved = start({ store: to, cacheMs: 0 }, old.service, old.time);
  expect(await failureOf(moved.value())).toMatchObject({ code: "reconnect_required" });
  expect((await moved.pos.tokens("other").token()).value).toBe("access-other-2");

  const { exitCode, stdout } = await copy(from, to);
  expect(stdout).toMatch(/^other: newer in the new store\n1 copied\n1 newer in the new store\n0 failed\n/);
  expect(exitCode).toBe(0);
  expect(await moved.value()).toBe("access-shop-2");
  expect((await moved.pos.tokens("other").token()).value).toBe("access-other-2");
});

test("--json: a line for each retailer, the sum and the advice beside it", async () => {
  const [from, to] = [await stored(["both", "here", "mine"]), await stored(["both", "there"])];
  await to.save(setOf("mine", { issuedAt: NOON, version: "renewed" }));
  const { exitCode, stdout, stderr } = await copy(from, to, "--json");
  expect(exitCode).toBe(0);
  expect(
    stdout
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line)),
  ).toEqual([
    { domainPrefix: "both", outcome: "same" },
    { domainPrefix: "mine", outcome: "newer" },
    { domainPrefix: "here", outcome: "copied" },
    { domainPrefix: "there", outcome: "only_in_to" },
  ]);
  expect(stderr).toMatch(/^1 copied, 1 the same in both, 1 newer in the new store, .*\nRun it again/);
});

test("who is newer in the new store is named, with the two reasons that there may be", async () => {
  const [from, to] = [await stored(["shop"]), memoryStore()];
  await to.save(setOf("shop", { issuedAt: NOON, version: "renewed" }));
  const { exitCode, stdout } = await copy(from, to);
  expect(exitCode).toBe(0);
  expect(stdout).toMatch(/^shop: newer in the new store\n/);
  expect(stdout).toMatch(
    /renewed or logged in there, if the application uses it already\. If it does not, the clocks/,
  );
});

test("who is in the new store only is named, whether it was disconnected or logged in there", async () => {
  const [from, to] = [await stored(["both"]), await stored(["both", "gone", "there"])];
  const { exitCode, stdout, stderr } = await copy(from, to);
  const words = "in the new store only: disconnected since they were copied, or logged in there";
  expect(stdout).toBe(
    `gone: ${words}\nthere: ${words}\n` +
      `0 copied\n1 the same in both\n2 ${words}\n0 failed\n` +
      "Nothing was left to copy. If nothing writes to the old store any more, the application may use the new one.\n" +
      `Disconnect those in the new store only, unless they have logged in there.\n${LAST_RUN}\n`,
  );
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
});

test("what cannot be read is named, the rest is copied: exit code 1, no token", async () => {
  const from = await stored(["a", "b", "c"]);
  await from.save(setOf("b", { access: { value: "two canary words" } }));
  const to = memoryStore();
  const { exitCode, stdout, stderr } = await copy(from, to);
  expect(exitCode).toBe(1);
  expect(stdout).toBe("2 copied\n1 failed\nNot everything was copied: fix what failed, and run it again.\n");
  expect(stderr).toMatch(/^b: .*access\.value is no bearer token/);
  expect(stderr).not.toContain("canary");
  expect([...(await contentsOf(to)).keys()]).toEqual(["a", "c"]);
});

test("a store that repeats tokens in its errors shows none", async () => {
  const to: TokenStore = {
    ...memoryStore(),
    save: async ({ access, refreshToken }) =>
      Promise.reject(new Error(`no room for ${access.value} and ${refreshToken}`)),
  };
  const { exitCode, stdout, stderr } = await copy(await stored(["shop"]), to, "--json");
  expect(exitCode).toBe(1);
  expect(stdout).toContain("no room for [hidden]");
  expect(stdout + stderr).not.toContain("canary");
});

test("a store that is away is given up after a hundred retailers, not after all of them", async () => {
  const from = await stored(Array.from({ length: 1000 }, (_, each) => `shop-${each}`));
  let saves = 0;
  const to: TokenStore = {
    ...memoryStore(),
    async save() {
      saves += 1;
      throw Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" });
    },
  };
  const { exitCode, stderr } = await copy(from, to);
  expect(exitCode).toBe(1);
  expect(stderr).toMatch(/retail-pos copy: The store could not save .*connect ECONNREFUSED/);
  expect(saves).toBeLessThan(150);
});

test("a signal lets what is under way end, and the next run goes on", async () => {
  const from = await stored(Array.from({ length: 300 }, (_, each) => `shop-${each}`));
  const to = memoryStore();
  const stop = new AbortController();
  const stopped = await run(["copy", "--json", "--client", moduleOf({ from, to })], {
    signal: stop.signal,
    onOutput: (line) => line.includes('"shop-150"') && stop.abort(),
  });
  expect(stopped.exitCode).toBe(1);
  expect(stopped.stderr).toMatch(/stopped before the end/);
  const half = await contentsOf(to);
  expect(half.size).toBeGreaterThan(0);
  expect(half.size).toBeLessThan(300);
  for (const [name, set] of half) expect(set).toEqual(setOf(name));
  expect((await copy(from, to)).exitCode).toBe(0);
  expect(await contentsOf(to)).toEqual(await contentsOf(from));
});

test("from and to that are one store: exit code 2", async () => {
  const store = memoryStore();
  expect(await copy(store, store)).toMatchObject({ exitCode: 2, stdout: "" });
});

test("a store to copy to that cannot list is good enough, and nobody is said to have looked into it", async () => {
  const { list: _none, ...to } = memoryStore();
  const from = await stored(["shop"]);
  expect((await copy(from, to)).stdout).toMatch(/^1 copied/);
  const { exitCode, stdout } = await copy(from, to);
  expect(exitCode).toBe(0);
  expect(stdout).toMatch(/whether a retailer is in it only was not checked\.\n/);
});

test("an empty store to copy from is told, and nobody in the other one is named", async () => {
  const { exitCode, stdout } = await copy(memoryStore(), await stored(["here", "there"]));
  expect(stdout).toBe(
    "0 copied\n0 failed\nNothing was found in from. Are the exports from and to swapped?\n",
  );
  expect(exitCode).toBe(0);
});

test("who is in both, and cannot be read when it is looked for once more, has failed: exit code 1", async () => {
  const from = await stored(["shop"]);
  let loads = 0;
  const flaky: TokenStore = {
    ...from,
    async load(domainPrefix) {
      loads += 1;
      if (loads > 1) throw new Error("the connection of canary-1 was lost");
      return from.load(domainPrefix);
    },
  };
  const { exitCode, stdout, stderr } = await copy(flaky, await stored(["shop"]));
  expect(exitCode).toBe(1);
  expect(stdout).toMatch(/^0 copied\n1 the same in both\n1 failed\nNot everything was copied/);
  expect(stderr).toMatch(/^shop: .*the connection of \[hidden\] was lost/);
});

test("who could not be copied is counted once, though it is in both", async () => {
  const from = await stored(["fine", "shop"]);
  await from.save(setOf("shop", { access: { value: "two canary words" } }));
  const { stdout } = await copy(from, await stored(["fine", "shop"]));
  expect(stdout).toMatch(/^0 copied\n1 the same in both\n1 failed\n/);
});
