import { expect, test } from "vitest";
import { derivedSecrets } from "./derived-secrets.js";

test("a derived secret is the same each time, and another for each purpose, client id and client secret", async () => {
  const one = derivedSecrets("the-application", "the-client-secret");
  const again = derivedSecrets("the-application", "the-client-secret");
  const others = [
    one("another purpose"),
    derivedSecrets("another", "the-client-secret")("a purpose"),
    derivedSecrets("the-application", "another")("a purpose"),
  ];
  expect(await one("a purpose")).toMatch(/^[\da-f]{64}$/);
  expect(await again("a purpose")).toBe(await one("a purpose"));
  expect(new Set([await one("a purpose"), ...(await Promise.all(others))]).size).toBe(4);
});

test.each([[""], [undefined], [7]])("%o is no purpose", async (purpose) => {
  await expect(derivedSecrets("id", "secret")(purpose as string)).rejects.toThrow(TypeError);
});
