import { randomBytes } from "node:crypto";
import type { DomainPrefix, TokenSet } from "@retail-pos/core";
import { sealedStore } from "@retail-pos/sealed-store";
import { describe, expect, test } from "vitest";
import { failureOf, fakeService, start } from "../packages/core/testing/fake-service.js";
import { engines, newTokens } from "./support/every-store.js";

const SHOP = "shop" as DomainPrefix;

// Two applications that were given one store by mistake: the tokens of one are worthless to the other.
describe.each(engines)("two client ids on one store, %s", (engine) => {
  test("the login of the second does not replace the first's; both are told what is wrong", async () => {
    const tokens = await newTokens(engine);
    const one = start({ ...tokens, clientId: "one" });
    const two = start({ ...tokens, clientId: "two" }, fakeService(), one.time);
    await one.login();
    const kept = await tokens.store.load(SHOP);
    for (const act of [two.value, two.login])
      expect(await failureOf(act())).toMatchObject({
        code: "bad_stored_tokens",
        message: expect.stringContaining("another application (client id)"),
      });
    expect(await tokens.store.load(SHOP)).toEqual(kept);
    expect(await one.value()).toBe("access-shop-1");
    await one.login(); // its own is replaced as ever
    expect(await one.value()).toBe("access-shop-2");
  });

  test("each with a key of its own: the login of the second is told that, and not that it would help", async () => {
    const { store, ...more } = await newTokens(engine);
    const sealed = () => sealedStore(store, { keys: [{ id: "key", secret: randomBytes(32) }] });
    const one = start({ ...more, store: sealed(), clientId: "one" });
    const two = start({ ...more, store: sealed(), clientId: "two" }, fakeService(), one.time);
    await one.login();
    expect(await failureOf(two.login())).toMatchObject({
      code: "bad_stored_tokens",
      message: expect.stringMatching(/another application \(client id\).*Nothing was changed$/),
    });
    expect(await one.value()).toBe("access-shop-1");
  });

  test("a set without a mark, of 0.1.0 or made by hand, is replaced by whoever logs in", async () => {
    const { store, lock } = await newTokens(engine);
    const set: TokenSet = {
      domainPrefix: SHOP,
      access: { value: "old" },
      refreshToken: "old",
      issuedAt: 1,
      version: "of-0.1.0",
    };
    await store.save(set);
    const { login, value } = start({ store, ...(lock && { lock }), clientId: "two" });
    await login();
    expect(await value()).toBe("access-shop-1");
    expect(await store.save({ ...set, version: "by hand" })).toBe(true);
  });
});
