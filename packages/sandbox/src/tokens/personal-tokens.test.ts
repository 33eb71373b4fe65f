import { expect, test } from "vitest";
import { startClient } from "../../testing/client.js";

test("a personal token opens the API of its store, and of no other", async () => {
  const client = await startClient();
  const token = client.sandbox.createPersonalToken("harbour-coffee");
  expect((await client.call("/api/products", token, {}, "harbour-coffee")).status).toBe(200);
  expect((await client.call("/api/products", token, {}, "rosas-bikes")).status).toBe(401);
});

test("a password reset deletes that user's tokens and nobody else's", async () => {
  const { sandbox, store } = await startClient();
  const owners = [sandbox.createPersonalToken(store), sandbox.createPersonalToken(store, "owner")];
  const managers = sandbox.createPersonalToken(store, "manager");
  const elsewhere = sandbox.createPersonalToken("rosas-bikes");
  expect(sandbox.resetPassword(store)).toBe(2);
  for (const token of owners) expect(sandbox.accepts(store, token)).toBe(false);
  expect(sandbox.accepts(store, managers)).toBe(true);
  expect(sandbox.accepts("rosas-bikes", elsewhere)).toBe(true);
});

test("a personal token does not expire, and is no refresh token", async () => {
  const client = await startClient();
  const token = client.sandbox.createPersonalToken(client.store);
  expect(client.sandbox.expire(client.store)).toBe(0);
  expect(client.sandbox.accepts(client.store, token)).toBe(true);
  expect((await client.refresh(token)).status).toBe(400);
});

test("only admins create them, and only users that exist have passwords", async () => {
  const { sandbox, store } = await startClient();
  expect(() => sandbox.createPersonalToken(store, "cashier")).toThrow(/no admin/);
  expect(() => sandbox.createPersonalToken(store, "nobody")).toThrow(/owner, manager, cashier/);
  expect(() => sandbox.resetPassword(store, "nobody")).toThrow(TypeError);
});
