import { memoryStore } from "@retail-pos/core";
import { expect, test } from "vitest";
import { moduleOf } from "../../testing/module.js";
import { clientOn, HOUR, NOON, setOf } from "../../testing/records.js";
import { run } from "../../testing/terminal.js";

const clock = () => NOON;

async function module(): Promise<string> {
  const store = memoryStore();
  await store.save(setOf("shop", { refusedAt: NOON - 3 * HOUR, scope: "products\u009b2J" }));
  return moduleOf({ client: clientOn(store) });
}

test("people read what the store knows of a retailer", async () => {
  const { exitCode, stdout } = await run(["status", "SHOP", "--client", await module()], { clock });
  expect(exitCode).toBe(0);
  expect(stdout).toBe(`Retailer      shop
Access token  log in again: refused 3 h ago (2030-06-15 09:00)
Issued        2 h ago (2030-06-15 10:00)
Scope         products?2J
`);
});

test("in the last minutes it shows seconds, as the runbook for unsaved tokens compares them", async () => {
  const store = memoryStore();
  const access = { value: "canary", expiresAt: NOON + 65_000 };
  await store.save(setOf("shop", { access, issuedAt: NOON - 3_000 }));
  const { stdout } = await run(["status", "shop", "--client", moduleOf({ client: clientOn(store) })], {
    clock,
  });
  expect(stdout).toBe(`Retailer      shop
Access token  ends in 1 min 5 s (2030-06-15 12:01:05)
Issued        3 s ago (2030-06-15 11:59:57)
`);
});

test("between the hourly tries of a refused token it says when the next one is, and of no rate limit", async () => {
  const store = memoryStore();
  await store.save(setOf("shop", { refusedAt: NOON - 3 * HOUR, limitedUntil: NOON + HOUR / 2 }));
  const { stdout } = await run(["status", "shop", "--client", moduleOf({ client: clientOn(store) })], {
    clock,
  });
  expect(stdout).toContain("\nNext try      no token request for 30 min, until 2030-06-15 12:30\n");
  expect(stdout).not.toMatch(/limited/i);
});

test("machines read a line of JSON", async () => {
  const { stdout } = await run(["status", "--json", "--client", await module(), "shop"], { clock });
  expect(stdout.split("\n")).toHaveLength(2);
  expect(stdout).toMatch(/^[\x20-\x7e]*\n$/); // a terminal would obey other characters
  const found = JSON.parse(stdout);
  expect(found).toMatchObject({
    domainPrefix: "shop",
    refusedAt: NOON - 3 * HOUR,
    scope: "products\u009b2J",
  });
});

test("an unknown retailer: exit code 1", async () => {
  const ran = await run(["status", "nobody", "--client", await module()]);
  expect(ran).toMatchObject({ exitCode: 1, stdout: "" });
  expect(ran.stderr).toMatch(/nothing is stored for nobody/);
});

test("a record that is unusable: exit code 1, and no token", async () => {
  const store = memoryStore();
  await store.save(setOf("shop", { access: { value: "two canary words" } }));
  const ran = await run(["status", "shop", "--client", moduleOf({ client: clientOn(store) })]);
  expect(ran).toMatchObject({ exitCode: 1, stdout: "" });
  expect(ran.stderr).toMatch(/access\.value is no bearer token/);
  expect(ran.stderr).not.toContain("canary");
});

test.each<[string, object, string]>([
  ["while its token lives", {}, "ends in 6 h (2030-06-15 18:00)"],
  [
    "after its token has ended",
    { access: { value: "canary", expiresAt: NOON - 3 * HOUR } },
    "ended 3 h ago (2030-06-15 09:00)",
  ],
])("during a back-off it says until when, %s", async (_when, changes, token) => {
  const store = memoryStore();
  const limitedUntil = NOON + 5 * 60_000;
  await store.save(setOf("shop", { ...changes, limitedUntil }));
  await store.save(setOf("before", { ...changes, limitedUntil: NOON }));
  const client = moduleOf({ client: clientOn(store) });
  const { stdout } = await run(["status", "shop", "--client", client], { clock });
  expect(stdout).toBe(`Retailer      shop
Access token  ${token}
Rate limited  no token request for 5 min 0 s, until 2030-06-15 12:05:00
Issued        2 h ago (2030-06-15 10:00)
`);
  const json = await run(["status", "shop", "--json", "--client", client], { clock });
  expect(JSON.parse(json.stdout)).toMatchObject({ limitedUntil });
  for (const flags of [[], ["--json"]])
    expect((await run(["status", "before", ...flags, "--client", client], { clock })).stdout).not.toMatch(
      /limited/i,
    );
});
