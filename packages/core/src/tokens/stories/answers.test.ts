import { describe, expect, test } from "vitest";
import { DAY_MS, failureOf, fakeService, json, settled, start, T0 } from "../../../testing/fake-service.js";
import { memoryStore } from "../../store/memory-store.js";
import { parseDomainPrefix } from "../../vocabulary/domain-prefix.js";
import { ReconnectRequiredError, TokenResponseError } from "../../vocabulary/errors.js";

const SHOP = parseDomainPrefix("shop");

describe("R4, by value, over consecutive renewals", () => {
  const rows: Array<{ name: string; given: unknown[]; sent: string[] }> = [
    { name: "present both times", given: ["r2", "r3"], sent: ["refresh-shop-1", "r2", "r3"] },
    { name: "present, then absent", given: ["r2", undefined], sent: ["refresh-shop-1", "r2", "r2"] },
    {
      name: "absent, then present",
      given: [undefined, "r2"],
      sent: ["refresh-shop-1", "refresh-shop-1", "r2"],
    },
    { name: "absent both times", given: [undefined, undefined], sent: Array(3).fill("refresh-shop-1") },
    { name: "present, then empty", given: ["r2", ""], sent: ["refresh-shop-1", "r2", "r2"] },
    { name: "present, then null", given: ["r2", null], sent: ["refresh-shop-1", "r2", "r2"] },
    { name: "present, then a number", given: ["r2", 17], sent: ["refresh-shop-1", "r2", "r2"] },
    { name: "present, then an object", given: ["r2", { token: "r3" }], sent: ["refresh-shop-1", "r2", "r2"] },
    {
      name: "the same one again",
      given: ["refresh-shop-1", "r2"],
      sent: ["refresh-shop-1", "refresh-shop-1", "r2"],
    },
  ];
  for (const { name, given, sent } of rows) {
    test(name, async () => {
      const store = memoryStore();
      const { events, login, service, time, value } = start({ store });
      await login();
      for (const [index, refresh_token] of [...given, undefined].entries()) {
        time.now += DAY_MS;
        service.next(() => json({ access_token: `a${index}`, expires_in: 86_400, refresh_token }));
        expect(await value()).toBe(`a${index}`);
        expect((await store.load(SHOP))?.refreshToken).toBe(sent[index + 1] ?? sent.at(-1));
      }
      expect(service.spent()).toEqual(sent);
      const rotated = events.flatMap((event) => (event.type === "renewed" ? event.rotated : []));
      expect(rotated).toEqual([sent[0] !== sent[1], sent[1] !== sent[2], false]);
    });
  }

  test("every stored set has a version of its own", async () => {
    const store = memoryStore();
    const { login, time, value } = start({ store });
    const versions = new Set([(await login()).version]);
    for (let count = 0; count < 3; count += 1) {
      time.now += DAY_MS;
      await value();
      versions.add((await store.load(SHOP))?.version ?? "none");
    }
    expect(versions.size).toBe(4);
  });
});

describe("salvage", () => {
  const odd: Array<{ name: string; fields: object }> = [
    { name: "token_type missing", fields: { token_type: undefined } },
    { name: "token_type mac", fields: { token_type: "mac" } },
    { name: "token_type a number", fields: { token_type: 1 } },
    { name: "an error field", fields: { error: "server_error" } },
    { name: "scope a list", fields: { scope: ["a"] } },
    { name: "domain_prefix a number", fields: { domain_prefix: 7 } },
    { name: "domain_prefix null", fields: { domain_prefix: null } },
    { name: "domain_prefix in capitals", fields: { domain_prefix: "SHOP" } },
    { name: "expires_in negative, expires in the past", fields: { expires_in: -1, expires: 1 } },
    { name: "expires_in not finite", fields: { expires_in: "1e999" } },
    { name: "__proto__ and unknown fields", fields: { constructor: 1, extra: { deep: [null] } } },
  ];
  for (const { name, fields } of odd) {
    test(`a usable access token and a rotated refresh token are kept: ${name}`, async () => {
      const store = memoryStore();
      const { login, service, time, value } = start({ store });
      await login();
      time.now = T0 + DAY_MS;
      service.next(() => json({ access_token: "a2", token_type: "Bearer", refresh_token: "r2", ...fields }));
      expect(await value()).toBe("a2");
      expect(await store.load(SHOP)).toMatchObject({ access: { value: "a2" }, refreshToken: "r2" });
      expect(await value()).toBe("a2");
      await settled();
      expect(service.spent()).toEqual(["refresh-shop-1"]);
    });
  }

  test("a byte-order mark and another content type do not matter", async () => {
    const { login, service, time, value } = start();
    await login();
    time.now = T0 + DAY_MS;
    const body = `\uFEFF${JSON.stringify({ access_token: "a2", refresh_token: "r2" })}`;
    service.next(() => new Response(body, { status: 201, headers: { "content-type": "text/html" } }));
    expect(await value()).toBe("a2");
  });

  const withoutAccess = [undefined, null, "", 5, "two words", "line\nbreak"];
  for (const access_token of withoutAccess) {
    test(`a new refresh token is kept even where access_token is ${JSON.stringify(access_token)}`, async () => {
      const store = memoryStore();
      const { login, service, time, value } = start({ store });
      await login();
      time.now = T0 + DAY_MS;
      service.next(() => json({ access_token, expires_in: 86_400, refresh_token: "r2" }));
      expect(await failureOf(value())).toBeInstanceOf(TokenResponseError);
      expect((await store.load(SHOP))?.refreshToken).toBe("r2");
      time.now += 1000;
      service.next(() => json({ access_token: "a3", expires_in: 86_400 }));
      expect(await value()).toBe("a3");
      expect(service.spent()).toEqual(["refresh-shop-1", "r2"]);
    });
  }

  test("a new refresh token without an access token ends nobody's live token", async () => {
    const { login, service, time, types, value } = start();
    await login();
    time.now = T0 + DAY_MS - 1000;
    service.next(() => json({ refresh_token: "r2" }));
    expect(await value()).toBe("access-shop-1");
    await settled();
    expect(await value()).toBe("access-shop-1");
    expect(types()).toContain("renewal_failed");
  });

  const useless: Array<{ name: string; answer: () => Response }> = [
    { name: "an empty object", answer: () => json({}) },
    { name: "an error with status 200", answer: () => json({ error: "invalid_grant" }) },
    { name: "HTML", answer: () => new Response("<html>Maintenance</html>") },
    { name: "nothing", answer: () => new Response(null, { status: 204 }) },
    { name: "a list", answer: () => json([{ access_token: "a2" }]) },
    { name: "a text", answer: () => json("access_token") },
    { name: "10 MB", answer: () => json({ access_token: "a2", padding: "x".repeat(10_000_000) }) },
  ];
  for (const { name, answer } of useless) {
    test(`${name} with a 2xx status is a typed error, and the stored set stays`, async () => {
      const store = memoryStore();
      const { login, service, time, value } = start({ store });
      const tokens = await login();
      time.now = T0 + DAY_MS;
      service.next(answer);
      const error = await failureOf(value());
      expect(error).toBeInstanceOf(TokenResponseError);
      expect(error).toMatchObject({ code: "bad_token_response", status: 502, domainPrefix: "shop" });
      expect(await store.load(SHOP)).toEqual(tokens);
      time.now += 1000;
      expect(await value()).toBe("access-shop-2");
    });
  }
});

describe("a domain_prefix of another retailer in a token response", () => {
  for (const domain_prefix of ["other", "shop2", "shop.example.com", "https://shop", " shop"]) {
    test(`${JSON.stringify(domain_prefix)} is refused on renewal, and nothing is stored`, async () => {
      const store = memoryStore();
      const { login, service, time, value } = start({ store });
      const tokens = await login();
      time.now = T0 + DAY_MS;
      service.next(() => json({ access_token: "a2", refresh_token: "r2", expires_in: 9, domain_prefix }));
      expect(await failureOf(value())).toBeInstanceOf(TokenResponseError);
      expect(await store.load(SHOP)).toEqual(tokens);
      expect(await store.load(parseDomainPrefix("other"))).toBeUndefined();
    });
  }
});

describe("the same access token again", () => {
  test("with the old expiry costs a bounded number of requests", async () => {
    const { login, service, time, value } = start();
    await login();
    const expires = (T0 + DAY_MS) / 1000;
    service.always(() => json({ access_token: "access-shop-1", token_type: "Bearer", expires }));
    for (time.now = T0 + DAY_MS - 400_000; time.now < T0 + DAY_MS + 600_000; time.now += 500) {
      expect(await value()).toBe("access-shop-1");
    }
    await settled();
    expect(service.spent().length).toBeLessThan(12);
  });

  test("with a new expiry is a renewal", async () => {
    const { login, service, time, shop } = start();
    await login();
    time.now = T0 + DAY_MS;
    service.next(() => json({ access_token: "access-shop-1", expires_in: 86_400 }));
    expect(await shop.token()).toEqual({ value: "access-shop-1", expiresAt: T0 + 2 * DAY_MS });
  });

  test("after it was rejected is an error for a bounded number of requests, and what came with it is kept", async () => {
    const store = memoryStore();
    const { login, service, shop, time } = start({ store });
    await login();
    let count = 0;
    service.always(() => {
      count += 1;
      return json({ access_token: "access-shop-1", refresh_token: `r${count}`, expires_in: 86_400 });
    });
    for (const end = T0 + 60_000; time.now < end; time.now += 100) {
      const rejected = time.now % 200 ? { rejected: "access-shop-1" } : {};
      if (time.now === T0) continue; // nobody has rejected it yet
      expect(await failureOf(shop.token(rejected))).toBeInstanceOf(TokenResponseError);
    }
    expect(count).toBeGreaterThan(3);
    expect(count).toBeLessThan(9);
    expect((await store.load(SHOP))?.refreshToken).toBe(`r${count}`);
  });

  test("a lifetime of nothing is no reason to renew on every call", async () => {
    const { login, service, time, value } = start({}, fakeService());
    await login();
    time.now = T0 + DAY_MS;
    service.always(() => json({ access_token: "a2", expires_in: 0, expires: 0 }));
    for (let count = 0; count < 20; count += 1) expect(await value()).toBe("a2");
    expect(service.spent()).toHaveLength(1);
  });
});

test("a refresh response cannot make a refused set of a good one", async () => {
  const { login, service, time, value } = start();
  await login();
  time.now = T0 + DAY_MS;
  service.next(() => json({ access_token: "a2", expires_in: 60, refusedAt: time.now, version: "v" }));
  expect(await value()).toBe("a2");
  time.now += 60_000;
  service.next(() => json({ access_token: "a3", expires_in: 60 }));
  expect(await value().catch((error: unknown) => error)).not.toBeInstanceOf(ReconnectRequiredError);
});
