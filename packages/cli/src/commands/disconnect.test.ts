import { memoryStore, type TokenStore } from "@retail-pos/core";
import { beforeEach, describe, expect, test } from "vitest";
import { moduleOf } from "../../testing/module.js";
import { clientOn, contentsOf, HOUR, NOON, setOf } from "../../testing/records.js";
import { run } from "../../testing/terminal.js";

let store: TokenStore;
beforeEach(async () => {
  store = memoryStore();
  for (const name of ["one", "three", "two"]) await store.save(setOf(name));
  for (const name of ["old", "older"]) await store.save(setOf(name, { refusedAt: NOON - HOUR }));
});

const disconnect = (args: string[], stdin?: string) => {
  const client = moduleOf({ client: clientOn(store) });
  return run(["disconnect", ...args, "--client", client], { clock: () => NOON, ...(stdin && { stdin }) });
};
const left = async () => [...(await contentsOf(store)).keys()];

describe("by name", () => {
  test.each(["y\n", "yes\n", "Y"])("after %j to a question that names them", async (stdin) => {
    const { exitCode, stdout, stderr } = await disconnect(["one", "TWO", "one"], stdin);
    expect(stderr).toContain("Disconnect one, two? They have to log in again. [y/N]");
    expect(stdout).toBe("2 disconnected\n0 failed\n");
    expect(exitCode).toBe(0);
    expect(await left()).toEqual(["old", "older", "three"]);
  });

  test.each(["n\n", "\n", "yesterday\n", ""])("%j is no: nothing is changed, exit code 1", async (stdin) => {
    const { exitCode, stderr } = await disconnect(["one"], stdin);
    expect(exitCode).toBe(1);
    expect(stderr).toContain("Nothing was changed");
    expect(await left()).toHaveLength(5);
  });

  test("--yes does not ask; the known ones go, an unknown one is exit code 1", async () => {
    const { exitCode, stdout, stderr } = await disconnect(["nobody", "one", "--yes", "--json"]);
    expect(exitCode).toBe(1);
    expect(
      stdout
        .trimEnd()
        .split("\n")
        .map((line) => JSON.parse(line)),
    ).toEqual([
      { domainPrefix: "nobody", outcome: "unknown" },
      { domainPrefix: "one", outcome: "disconnected" },
    ]);
    expect(stderr).not.toContain("[y/N]");
    expect(await left()).toEqual(["old", "older", "three", "two"]);
  });

  test.each([
    ["one", ["one", "two", "nobody"], ["nobody"]],
    ["two of three", ["nobody", "one", "somebody"], ["nobody", "somebody"]],
    ["all", ["nobody"], ["nobody"]],
  ])("people read by name who is unknown: %s", async (_how, names, unknown) => {
    const { exitCode, stdout } = await disconnect([...names, "--yes"]);
    const lines = stdout.trimEnd().split("\n");
    expect(lines.slice(0, unknown.length).sort()).toEqual(unknown.map((name) => `${name}: not connected`));
    expect(lines.slice(unknown.length)).toEqual([
      `${names.length - unknown.length} disconnected`,
      `${unknown.length} not connected`,
      "0 failed",
    ]);
    expect(exitCode).toBe(1);
  });

  test("one that is no label: exit code 2, nothing is changed, and it is not repeated", async () => {
    const { exitCode, stderr } = await disconnect(["one", "canary.example", "--yes"]);
    expect(exitCode).toBe(2);
    expect(stderr).toMatch(/not one DNS label .*\(number 2\)/);
    expect(stderr).not.toContain("canary");
    expect(await left()).toHaveLength(5);
  });

  test("a record that cannot be read goes", async () => {
    await store.save(setOf("one", { access: { value: "two canary words" } }));
    const { exitCode, stdout, stderr } = await disconnect(["one", "--yes"]);
    expect({ exitCode, stdout, stderr }).toEqual({
      exitCode: 0,
      stdout: "1 disconnected\n0 failed\n",
      stderr: "",
    });
    expect(await left()).toEqual(["old", "older", "three", "two"]);
  });

  test("nothing goes while the store cannot be read: exit code 1", async () => {
    const { load } = store;
    store.load = () => Promise.reject(new Error("away"));
    const { exitCode, stderr } = await disconnect(["one", "--yes"]);
    store.load = load;
    expect(exitCode).toBe(1);
    expect(stderr).toMatch(/^one: The store could not load/);
    expect(await left()).toHaveLength(5);
  });

  test("another application's tokens stay: exit code 1", async () => {
    await store.save(setOf("one", { version: "made-by~another" }));
    const { exitCode, stderr } = await disconnect(["one", "two", "--yes"]);
    expect(exitCode).toBe(1);
    expect(stderr).toMatch(/^one: .*another application/m);
    expect(await left()).toEqual(["old", "older", "one", "three"]);
  });
});

describe("--refused", () => {
  test("disconnects those who have to log in again, and only them", async () => {
    const { exitCode, stdout, stderr } = await disconnect(["--refused"], "y\n");
    expect(stderr).toContain("Disconnect old, older?");
    expect({ exitCode, stdout }).toEqual({ exitCode: 0, stdout: "2 disconnected\n0 failed\n" });
    expect(await left()).toEqual(["one", "three", "two"]);
  });

  test("names ten in the question, and says how many more", async () => {
    for (let each = 0; each < 1200; each += 1) await store.save(setOf(`a-${each}`, { refusedAt: NOON - 1 }));
    const { stderr } = await disconnect(["--refused"], "n\n");
    expect(stderr).toMatch(/^Disconnect (a-\d+, ){9}a-\d+ and 1,192 more\?/);
    expect(await left()).toHaveLength(1205);
  });

  test("leaves who has logged in again, or was refused, since the question was asked", async () => {
    const list = store.list?.bind(store) as NonNullable<TokenStore["list"]>;
    let pages = 0;
    store.list = async (ask) => {
      const listed = await list(ask);
      // The second list is after the answer; this is between it and what is done.
      if (++pages === 2) {
        await store.save(setOf("old", { version: "logged-in-again" }));
        await store.save(setOf("three", { refusedAt: NOON }));
      }
      return listed;
    };
    const asking = disconnect(["--refused"], "y\n");
    expect((await asking).stdout).toBe("1 disconnected\n1 connected again or gone meanwhile\n0 failed\n");
    expect(await left()).toEqual(["old", "one", "three", "two"]);
  });

  test("of none is no failure", async () => {
    for (const name of ["old", "older"]) await store.remove(setOf(name).domainPrefix);
    expect(await disconnect(["--refused"])).toMatchObject({ exitCode: 0, stdout: "" });
  });
});

test.each([
  [[], /name the retailers/],
  [["--refused", "one"], /not both/],
])("%j: exit code 2", async (args, words) => {
  const { exitCode, stderr } = await disconnect(args);
  expect(exitCode).toBe(2);
  expect(stderr).toMatch(words);
});

test("--refused with a store that cannot list: exit code 2", async () => {
  const { list: _none, ...unlisted } = store;
  store = unlisted;
  const { exitCode, stderr } = await disconnect(["--refused", "--yes"]);
  expect(exitCode).toBe(2);
  expect(stderr).toMatch(/store has no list\(\)/);
});
