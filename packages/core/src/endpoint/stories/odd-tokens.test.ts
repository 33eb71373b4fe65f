import { describe, expect, test } from "vitest";
import { DAY_MS, failureOf, json, start, T0 } from "../../../testing/fake-service.js";
import { memoryStore } from "../../store/memory-store.js";
import { parseDomainPrefix } from "../../vocabulary/domain-prefix.js";

const LONGEST = "a".repeat(16_384);

describe("an access token that is too long for a header", () => {
  test("is a bad token response, and the refresh token beside it is kept", async () => {
    const store = memoryStore();
    const { login, service, time, value } = start({ store });
    await login();
    time.now = T0 + DAY_MS;
    service.next(() => json({ access_token: `${LONGEST}a`, refresh_token: "rotated", expires_in: 60 }));
    expect(await failureOf(value())).toMatchObject({ code: "bad_token_response" });
    expect(await store.load(parseDomainPrefix("shop"))).toMatchObject({ refreshToken: "rotated" });
  });

  test.each([
    ["16 kB", LONGEST, true],
    ["one more", `${LONGEST}a`, false],
    ["100 kB", "a".repeat(100_000), false],
  ])("is one of more than 16 kB: a login with one of %s", async (_, access_token, isTaken) => {
    const { pos, service } = start();
    service.next(() => json({ access_token, refresh_token: "refresh", expires_in: 60 }));
    const login = pos.exchange("shop", "code");
    if (isTaken) expect((await login).access.value).toBe(access_token);
    else expect(await failureOf(login)).toMatchObject({ code: "bad_token_response", status: 502 });
  });
});

describe("a refresh token that is too long to be sent with each renewal", () => {
  test.each([
    ["16 kB", LONGEST, true],
    ["17 kB", "r".repeat(17_000), false],
    ["900 kB", "r".repeat(900_000), false],
  ])("is refused at a login: %s", async (_, refresh_token, isTaken) => {
    const { pos, service } = start();
    service.next(() => json({ access_token: "access", refresh_token, expires_in: 60 }));
    const login = pos.exchange("shop", "code");
    if (isTaken) expect((await login).refreshToken).toBe(refresh_token);
    else
      expect(await failureOf(login)).toMatchObject({
        code: "bad_token_response",
        message: expect.stringContaining("refresh_token"),
      });
  });

  test("is left out of a renewal: the access token beside it is used, the stored refresh token stays", async () => {
    const store = memoryStore();
    const { login, service, time, value } = start({ store });
    await login();
    time.now = T0 + DAY_MS;
    service.next(() => json({ access_token: "next", refresh_token: `${LONGEST}r`, expires_in: 60 }));
    expect(await value()).toBe("next");
    expect(await store.load(parseDomainPrefix("shop"))).toMatchObject({ refreshToken: "refresh-shop-1" });
  });
});

describe("an error that comes with status 200", () => {
  test.each([
    [{ error: "bad_refresh_token" }, "; it says bad_refresh_token"],
    [{ error: "bad_refresh_token", error_description: "gone" }, "; it says bad_refresh_token: gone"],
    [{ error_description: "no\r\nsuch \u001b[31mtoken" }, "; it says no such  [31mtoken"],
    [{ error: { code: 5 } }, "access_token"],
  ])("is repeated in the message: %j", async (body, words) => {
    const { login, service, time, value } = start();
    await login();
    time.now = T0 + DAY_MS;
    service.next(() => json(body));
    const error = (await failureOf(value())) as Error;
    expect(error.message.endsWith(words)).toBe(true);
  });

  test("and shows no secret: of the request, or a token of the answer that cannot be used", async () => {
    const { login, service, time, value } = start();
    await login();
    time.now = T0 + DAY_MS;
    const access_token = "not usable because of spaces";
    service.next(({ form }) =>
      json({ error: `you sent ${form}`, error_description: `we gave ${access_token}`, access_token }),
    );
    const { message } = (await failureOf(value())) as Error;
    expect(message).not.toMatch(/refresh-shop-1|the-client-secret|not usable/);
  });
});
