import { randomBytes } from "node:crypto";
import { memoryStore, type TokenStore } from "@retail-pos/core";
import { sealedStore } from "@retail-pos/sealed-store";
import { describe, expect, test } from "vitest";
import { moduleOf } from "../../testing/module.js";
import { clientOn, HOUR, NOON, setOf } from "../../testing/records.js";
import { run } from "../../testing/terminal.js";

const clock = () => NOON;

/** Four retailers: one that lives, one that has ended, one that was refused, one without a known end. */
async function fleet(): Promise<string> {
  const store = memoryStore();
  await store.save(setOf("harbour-coffee"));
  await store.save(setOf("late-books", { access: { value: "canary", expiresAt: NOON - 3 * HOUR } }));
  await store.save(setOf("old-toys", { refusedAt: NOON - 50 * HOUR, scope: "products:read" }));
  await store.save(setOf("zero", { access: { value: "canary" } }));
  return moduleOf({ client: clientOn(store) });
}

test("a terminal gets columns with local times, how long it is, and the sum", async () => {
  const { exitCode, stdout, stderr } = await run(["list", "--client", await fleet()], { clock, isTTY: true });
  expect(stdout).toBe(`RETAILER        ISSUED            ACCESS TOKEN
harbour-coffee  2030-06-15 10:00  ends in 6 h (2030-06-15 18:00)
late-books      2030-06-15 10:00  ended 3 h ago (2030-06-15 09:00)
old-toys        2030-06-15 10:00  log in again: refused 2 d ago (2030-06-13 10:00)
zero            2030-06-15 10:00  end unknown

3 connected
1 of these with an access token that has ended
1 must log in again
`);
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
});

test("a pipe gets a line with tabs for each, instants for machines, and no sum", async () => {
  const { exitCode, stdout, stderr } = await run(["list", "--client", await fleet()], { clock });
  const iso = (at: number) => new Date(at).toISOString();
  const issued = iso(NOON - 2 * HOUR);
  expect(stdout.split("\n").map((line) => line.split("\t"))).toEqual([
    ["harbour-coffee", "connected", issued, iso(NOON + 6 * HOUR), "-"],
    ["late-books", "ended", issued, iso(NOON - 3 * HOUR), "-"],
    ["old-toys", "refused", issued, iso(NOON + 6 * HOUR), iso(NOON - 50 * HOUR)],
    ["zero", "connected", issued, "-", "-"],
    [""],
  ]);
  expect(stderr).toBe("3 connected, 1 of these with an access token that has ended, 1 must log in again\n");
  expect(exitCode).toBe(0);
});

test("--json: a line for each retailer, as the client has it, and nothing else", async () => {
  const { stdout, stderr } = await run(["list", "--json", "--client", await fleet()], { clock });
  const lines = stdout.trimEnd().split("\n");
  expect(lines).toHaveLength(4);
  expect(JSON.parse(lines[2] as string)).toEqual({
    domainPrefix: "old-toys",
    issuedAt: NOON - 2 * HOUR,
    expiresAt: NOON + 6 * HOUR,
    refusedAt: NOON - 50 * HOUR,
    scope: "products:read",
  });
  expect(stderr).toBe("");
});

test.each([
  [["--refused"], ["old-toys"]],
  [["--due", "1h"], ["late-books"]],
  [
    ["--due", "6h"],
    ["harbour-coffee", "late-books"],
  ],
  [["--due", "359m"], ["late-books"]],
  [
    ["--due", "today"],
    ["harbour-coffee", "late-books"],
  ],
  [
    ["--due", "1h", "--refused"],
    ["late-books", "old-toys"],
  ],
])("%j shows %j", async (flags, names) => {
  const { stdout } = await run(["list", "--json", ...flags, "--client", await fleet()], { clock });
  const shown = stdout
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line).domainPrefix);
  expect(shown).toEqual(names);
});

describe("--missing-scope", () => {
  /** By the scope that was granted; "unsaid" has none, as the services of the first version. */
  async function scoped(): Promise<string> {
    const store = memoryStore();
    await store.save(setOf("both", { scope: "sales:read products:read" }));
    await store.save(setOf("none-of-them", { scope: "customers:read" }));
    await store.save(setOf("one", { scope: "products:read", refusedAt: NOON - HOUR }));
    await store.save(setOf("other-letters", { scope: "Products:read sales:read:all" }));
    await store.save(setOf("unsaid"));
    return moduleOf({ client: clientOn(store) });
  }

  test.each<[string[], string[]]>([
    [["products:read"], ["none-of-them", "other-letters", "unsaid"]],
    [["products:read sales:read"], ["none-of-them", "one", "other-letters", "unsaid"]],
    [["  sales:read  products:read "], ["none-of-them", "one", "other-letters", "unsaid"]],
    [
      ["customers:read", "--refused"],
      ["both", "one", "other-letters", "unsaid"],
    ],
    [
      ["products:read", "--refused"],
      ["none-of-them", "one", "other-letters", "unsaid"],
    ],
    [
      ["products:read", "--due", "6h"],
      ["both", "none-of-them", "other-letters", "unsaid"],
    ],
  ])("%j shows %j", async ([scopes = "", ...flags], names) => {
    const args = ["list", "--json", "--missing-scope", scopes, ...flags, "--client", await scoped()];
    const { stdout } = await run(args, { clock });
    const shown = stdout.trimEnd().split("\n");
    expect(shown.map((line) => JSON.parse(line).domainPrefix)).toEqual(names);
  });

  test("the sum counts apart those whose service said no scope", async () => {
    const args = ["list", "--missing-scope", "products:read", "--client", await scoped()];
    expect((await run(args, { clock })).stderr).toBe(
      "3 shown, 4 connected, 0 of these with an access token that has ended, 1 must log in again, " +
        "2 without these scopes, 1 whose service said no scope\n",
    );
  });

  test.each(["", "  ", 'a"b', "caf\u00e9", "a\\b"])("%j is no scope: exit code 2", async (scopes) => {
    const { exitCode, stdout, stderr } = await run([
      "list",
      "--missing-scope",
      scopes,
      "--client",
      "none.js",
    ]);
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: "" });
    expect(stderr).toMatch(/--missing-scope must be scopes with spaces between/);
  });
});

test("--due today counts apart what ends until midnight and what has ended", async () => {
  const { stderr } = await run(["list", "--due", "today", "--client", await fleet()], { clock });
  expect(stderr).toBe(
    "2 shown, 3 connected, 1 of these end by 2030-06-16 00:00, " +
      "1 of these with an access token that has ended, 1 must log in again\n",
  );
});

describe("a record that cannot be read", () => {
  const keys = [{ id: "2030-06", secret: randomBytes(32) }];
  const other = [{ id: "2030-06", secret: randomBytes(32) }];
  const cannot: [string, (store: TokenStore) => TokenStore, RegExp][] = [
    ["sealed, without sealedStore", (store) => store, /it is sealed, .* Give this process sealedStore\(\)/],
    [
      "sealed with another secret",
      (store) => sealedStore(store, { keys: other }),
      /"2030-06" has another secret now/,
    ],
  ];

  async function stored(wrap: (store: TokenStore) => TokenStore): Promise<string> {
    const store = memoryStore();
    await wrap(store).save(setOf("read"));
    await sealedStore(store, { keys }).save(setOf("shop", { refusedAt: NOON - HOUR }));
    return moduleOf({ client: clientOn(wrap(store)) });
  }

  test.each(cannot)("%s: is not called connected, refused or ended: exit code 1", async (_, wrap, words) => {
    const args = ["list", "--client", await stored(wrap)];
    const { exitCode, stdout, stderr } = await run(args, { clock });
    expect(stdout).toMatch(/^read\tconnected\t.*\nshop\tunreadable\t/);
    expect(stderr).toMatch(words);
    expect(stderr).toMatch(/retailer "shop"/);
    expect(stderr).toMatch(/1 connected, .* 0 must log in again, 1 cannot be read/);
    expect(exitCode).toBe(1);
    const terminal = await run(args, { clock, isTTY: true });
    expect(terminal.stdout).toMatch(/^shop +\S+ \S+ +cannot be read$/m);
  });

  test.each(cannot)("%s: --json says why", async (_, wrap, words) => {
    const { exitCode, stdout } = await run(["list", "--json", "--client", await stored(wrap)], { clock });
    const [read, unreadable] = stdout
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(read).not.toHaveProperty("error");
    expect(unreadable).toMatchObject({ domainPrefix: "shop", error: expect.stringMatching(words) });
    expect(exitCode).toBe(1);
  });

  test.each(cannot)("%s: status says so, and nothing else: exit code 1", async (_, wrap, words) => {
    const { exitCode, stdout, stderr } = await run(["status", "shop", "--client", await stored(wrap)], {
      clock,
    });
    expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: "" });
    expect(stderr).toMatch(words);
  });

  test.each(cannot)("%s: disconnect --refused leaves it alone", async (_, wrap) => {
    const client = await stored(wrap);
    const { exitCode, stdout } = await run(["disconnect", "--refused", "--yes", "--client", client], {
      clock,
    });
    expect(exitCode).toBe(1);
    expect(stdout).toMatch(/0 disconnected\n1 failed/);
  });
});

test("an empty store is no failure", async () => {
  const client = moduleOf({ client: clientOn(memoryStore()) });
  expect(await run(["list", "--client", client], { clock, isTTY: true })).toMatchObject({
    exitCode: 0,
    stdout: "0 connected\n0 of these with an access token that has ended\n0 must log in again\n",
  });
});

const { load, save, remove } = memoryStore();
const page = { retailers: [{ domainPrefix: "shop", issuedAt: 1 }], cursor: "again" };
test.each<[string, unknown, number, RegExp]>([
  ["that cannot list", undefined, 2, /store has no list/],
  ["whose list goes round", async () => page, 1, /does not come to an end/],
  ["whose list never ends", endless(), 1, /does not come to an end/],
  ["whose list answers nothing", async () => undefined, 1, /answered no page/],
  [
    "whose list fails",
    async () => Promise.reject(new Error("canary-1 of access-canary")),
    1,
    /could not list/,
  ],
])("a store %s: a word about why, no secret", async (_name, list, exitCode, words) => {
  const store = { load, save, remove, list } as TokenStore;
  const ran = await run(["list", "--json", "--client", moduleOf({ client: clientOn(store) })]);
  expect(ran.exitCode).toBe(exitCode);
  expect(ran.stderr).toMatch(words);
  expect(ran.stderr).not.toContain("canary");
});

test("a client that fails with a TypeError of its own has failed, and is no wrong use: exit code 1", async () => {
  async function* retailers() {
    yield { domainPrefix: "shop", issuedAt: 1 };
    new Headers({ authorization: "Bearer canary-2\n\u0000" });
  }
  const client = { ...clientOn(memoryStore()), retailers };
  const { exitCode, stderr } = await run(["list", "--json", "--client", moduleOf({ client })]);
  expect(exitCode).toBe(1);
  expect(stderr).toMatch(/^retail-pos list: .*is an invalid header value/);
  expect(stderr).not.toMatch(/canary|Try/);
});

function endless() {
  let pages = 0;
  return async () => ({ retailers: [], cursor: `cursor-${pages++}` });
}

test("a signal stops it between two retailers: exit code 1", async () => {
  const store = memoryStore();
  for (let each = 0; each < 100; each += 1) await store.save(setOf(`shop-${each}`));
  const stop = new AbortController();
  const client = moduleOf({ client: clientOn(store) });
  const { exitCode, stdout, stderr } = await run(["list", "--client", client], {
    signal: stop.signal,
    onOutput: (line) => line.startsWith("shop-17") && stop.abort(),
  });
  expect(exitCode).toBe(1);
  expect(stdout.trimEnd().split("\n").at(-1)).toMatch(/^shop-17\t/);
  expect(stderr).toBe("retail-pos list: stopped before the end\n");
});
