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
