import { randomBytes } from "node:crypto";
import { memoryStore, type TokenStore } from "@retail-pos/core";
import { sealedStore } from "@retail-pos/sealed-store";
import { expect, test } from "vitest";
import { moduleOf } from "../../testing/module.js";
import { contentsOf, setOf } from "../../testing/records.js";
import { run } from "../../testing/terminal.js";

const keys = [{ id: "2030-06", secret: randomBytes(32) }];

const unseal = (store: TokenStore, ...flags: string[]) =>
  run(["unseal", ...flags, "--client", moduleOf({ store })]);

async function sealed(...names: string[]): Promise<TokenStore> {
  const inner = memoryStore();
  for (const name of names) await sealedStore(inner, { keys }).save(setOf(name));
  return inner;
}

test("every sealed record is made plain where it is, its set and version as they were", async () => {
  const inner = await sealed("one", "two");
  await inner.save(setOf("plain"));
  const { exitCode, stdout, stderr } = await unseal(sealedStore(inner, { keys, plain: "write" }));
  expect(stdout).toBe(
    "Pass 1:\n2 made plain\n1 plain already\n0 failed\nPass 2:\n0 made plain\n3 plain already\n0 failed\n" +
      "Everything is plain. sealedStore can be taken out.\n",
  );
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
  expect(await contentsOf(inner)).toEqual(
    new Map(["one", "plain", "two"].map((name) => [name, setOf(name)])),
  );
});

test("a record that no key opens is named, and stays as it is: exit code 1", async () => {
  const inner = await sealed("shop");
  const before = await inner.load(setOf("shop").domainPrefix);
  const others = [{ id: "2031-01", secret: randomBytes(32) }];
  const { exitCode, stdout, stderr } = await unseal(sealedStore(inner, { keys: others, plain: "write" }));
  expect(exitCode).toBe(1);
  expect(stderr).toMatch(/^shop: .*"2030-06", which is not among keys/);
  expect(stdout).toMatch(/could not be opened\. .* keep sealedStore and its keys\.\n$/);
  expect(await inner.load(setOf("shop").domainPrefix)).toEqual(before);
});

test("a store that still saves sealed records: exit code 2, nothing is changed", async () => {
  for (const options of [{ keys }, { keys, plain: "read" as const }]) {
    const inner = await sealed("shop");
    const { exitCode, stderr } = await unseal(sealedStore(inner, options));
    expect(exitCode).toBe(2);
    expect(stderr).toMatch(/saves sealed records: every process needs plain: "write" before/);
    expect((await inner.load(setOf("shop").domainPrefix))?.version).toBe("sealed:version-of-shop");
  }
});
