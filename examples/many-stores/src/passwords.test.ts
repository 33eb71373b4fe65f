import { lookup } from "node:dns/promises";
import { expect, test } from "vitest";
import { hashPassword, isPassword } from "./passwords.js";

test("a password is known again, and no other", async () => {
  const hashed = await hashPassword("correct horse battery staple");
  expect(await isPassword("correct horse battery staple", hashed)).toBe(true);
  expect(await isPassword("correct horse battery stable", hashed)).toBe(false);
  expect(await isPassword("correct horse battery staple", undefined)).toBe(false);
});

test("fifty people who log in at once leave threads for a renewal: its name is looked up before they are done", async () => {
  let done = 0;
  const people = Array.from({ length: 50 }, async () => {
    await hashPassword("correct horse battery staple");
    done += 1;
  });
  await lookup("localhost");
  expect(done).toBeLessThan(10);
  await Promise.all(people);
});
