import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import {
  DAY_MS,
  failureOf,
  json,
  later,
  type Script,
  settled,
  start,
  T0,
} from "../../../testing/fake-service.js";
import { retailPos } from "../../retail-pos.js";
import { memoryStore } from "../../store/memory-store.js";
import { parseDomainPrefix } from "../../vocabulary/domain-prefix.js";
import { RateLimitedError, ReconnectRequiredError, TokenEndpointError } from "../../vocabulary/errors.js";

// The service answers after the deadline. By then it has ended the refresh token that it was sent (R4).

const shop = parseDomainPrefix("shop");
const timeoutMs = 300; // an answer may be two times that late

/** The service does what it always does, at once; its answer waits until it is let go. */
function slowAnswer() {
  let letGo = () => {};
  const gate = new Promise<void>((resolve) => {
    letGo = resolve;
  });
  const script: Script = async (_, regular) => {
    const answer = regular();
    await gate;
    return answer;
  };
  return { script, letGo };
}

async function afterTheDeadline(deadlineMs = timeoutMs) {
  const store = memoryStore();
  const process = start({ store, timeoutMs: deadlineMs });
  const { login, service, time, value } = process;
  await login();
  time.now = T0 + DAY_MS;
  const { script, letGo } = slowAnswer();
  service.next(script);
  expect(await failureOf(value())).toBeInstanceOf(TokenEndpointError);
  return { ...process, store, letGo };
}

describe("tokens that come after the deadline", () => {
  test("are saved, and serve the next call without another request", async () => {
    const { letGo, store, service, value, types } = await afterTheDeadline();
    letGo();
    await expect.poll(async () => (await store.load(shop))?.refreshToken).toBe("refresh-shop-2");
    expect(await value()).toBe("access-shop-2");
    expect(service.spent()).toEqual(["refresh-shop-1"]);
    expect(types()).toEqual(["connected", "renewal_failed", "renewed"]);
  });

  test("are saved too where the deadline is no whole number of milliseconds", async () => {
    const { letGo, value } = await afterTheDeadline(1000 / 3);
    letGo();
    await expect.poll(value).toBe("access-shop-2");
  });

  test("take the place of the mark that another process made, whose request was refused meanwhile", async () => {
    const { letGo, store, service, time, value } = await afterTheDeadline();
    const other = start({ store }, service, time);
    expect(await failureOf(other.value())).toBeInstanceOf(ReconnectRequiredError);
    letGo();
    await expect.poll(async () => (await store.load(shop))?.refusedAt).toBeUndefined();
    expect(await value()).toBe("access-shop-2");
    expect(await other.value()).toBe("access-shop-2");
    expect(service.spent()).toEqual(["refresh-shop-1", "refresh-shop-1"]);
  });

  test("leave a login alone that came meanwhile", async () => {
    const { letGo, login, store, value, types } = await afterTheDeadline();
    const { version } = await login();
    letGo();
    await new Promise((resolve) => setTimeout(resolve, 50)); // for a save that must not come
    expect((await store.load(shop))?.version).toBe(version);
    expect(await value()).toBe("access-shop-3");
    expect(types()).not.toContain("renewed");
  });

  test("leave a disconnected store disconnected", async () => {
    const { letGo, pos, store } = await afterTheDeadline();
    await pos.disconnect("shop");
    letGo();
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(await store.load(shop)).toBeUndefined();
  });

  test("leave the tokens alone that this process holds and cannot save, and their refresh token", async () => {
    const memory = memoryStore();
    let isDown = false;
    const save: typeof memory.save = async (...asked) => {
      if (isDown) throw new Error("down");
      return memory.save(...asked);
    };
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    const { login, service, time, value } = start({ store: { ...memory, save } });
    await login();
    time.now = T0 + DAY_MS;
    const { script, letGo } = slowAnswer();
    service.next(script);
    const failing = failureOf(value());
    await vi.advanceTimersByTimeAsync(10_000);
    await failing;
    time.now += 2000;
    isDown = true;
    // A service that forgives one refresh token sent twice; what it issued last is what it accepts.
    const newer = { access_token: "newer-access", refresh_token: "newer-refresh", expires_in: 86_400 };
    service.next(() => json(newer));
    const renewing = value();
    await vi.advanceTimersByTimeAsync(5000);
    expect(await renewing).toBe("newer-access");
    isDown = false;
    letGo();
    await settled();
    expect(await value()).toBe("newer-access");
    await vi.advanceTimersByTimeAsync(5000);
    expect((await memory.load(shop))?.refreshToken).toBe("newer-refresh");
  });

  test("wait in this process if the store does not take them", async () => {
    const memory = memoryStore();
    let isDown = false;
    const save: typeof memory.save = async (...asked) => {
      if (isDown) throw new Error("down");
      return memory.save(...asked);
    };
    const { login, service, time, value, types } = start({ store: { ...memory, save }, timeoutMs });
    await login();
    time.now = T0 + DAY_MS;
    const { script, letGo } = slowAnswer();
    service.next(script);
    await failureOf(value());
    isDown = true;
    letGo();
    await expect.poll(types).toContain("unsaved");
    expect(await value()).toBe("access-shop-2");
    isDown = false;
    await expect.poll(async () => (await memory.load(shop))?.refreshToken).toBe("refresh-shop-2");
  });
});

test("a renewal waits for late tokens that are being saved, and spends the new refresh token", async () => {
  const memory = memoryStore();
  const saving = later();
  let isSlow = false;
  const save: typeof memory.save = async (...asked) => {
    if (isSlow) await saving.promise;
    return memory.save(...asked);
  };
  const { login, service, time, value } = start({ store: { ...memory, save }, timeoutMs });
  await login();
  time.now = T0 + DAY_MS;
  const { script, letGo } = slowAnswer();
  service.next(script);
  await failureOf(value());
  time.now += 2_000; // the pause after the failure is over
  isSlow = true;
  letGo();
  await settled();
  const waiting = value();
  await settled();
  expect(service.spent()).toEqual(["refresh-shop-1"]);
  saving.resolve();
  expect(await waiting).toBe("access-shop-2");
  expect(service.spent()).toEqual(["refresh-shop-1"]);
});

test("a 429 after the deadline holds, in all processes", async () => {
  const store = memoryStore();
  const process = start({ store, timeoutMs });
  const { login, service, time, value, types } = process;
  const other = start({ store }, service, time);
  await login();
  time.now = T0 + DAY_MS;
  const { script, letGo } = slowAnswer();
  service.next(async (seen) => script(seen, () => json({}, 429, { "x-ratelimit-reset": reset(time.now) })));
  await failureOf(value());
  letGo();
  await expect.poll(async () => (await store.load(shop))?.limitedUntil).toBeDefined();
  time.now += 2_000;
  expect(await failureOf(value())).toBeInstanceOf(RateLimitedError);
  expect(await failureOf(other.value())).toBeInstanceOf(RateLimitedError);
  expect(service.spent()).toHaveLength(1);
  expect(types()).toEqual(["connected", "renewal_failed", "rate_limited"]);
});

/** In a minute, as the header says it. */
function reset(now: number): string {
  return String(now / 1000 + 60);
}

test.each<[string, () => Response]>([
  ["a refusal", () => json({ error: "invalid_grant" }, 400)],
  ["a 500", () => new Response("down", { status: 500 })],
  ["no JSON", () => new Response("<html>")],
  ["a redirect", () => Response.redirect("https://elsewhere.example/", 307)],
  [
    "another retailer's tokens",
    () => json({ access_token: "a", refresh_token: "r", domain_prefix: "other" }),
  ],
])("%s after the deadline changes nothing", async (_, answer) => {
  const store = memoryStore();
  const { login, service, time, value, types } = start({ store, timeoutMs });
  const { version } = await login();
  time.now = T0 + DAY_MS;
  const { script, letGo } = slowAnswer();
  service.next(async (...asked) => {
    await script(...asked);
    return answer();
  });
  await failureOf(value());
  letGo();
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect((await store.load(shop))?.version).toBe(version);
  expect(types()).toEqual(["connected", "renewal_failed"]);
});

test("a service that never answers: the request ends, and with it the connection", async () => {
  const server = createServer();
  onTestFinished(() => void server.close());
  const ended = new Promise<void>((resolve) => {
    server.on("request", (_, response) => response.on("close", resolve));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const pos = retailPos({
    baseUrl: `http://127.0.0.1:${port}/{domain_prefix}`,
    clientId: "the-application",
    clientSecret: "the-client-secret",
    timeoutMs: 50,
  });
  const expired = { value: "an-access-token", expiresAt: Date.now() - 1 };
  const set = { domainPrefix: "shop", access: expired, refreshToken: "r", issuedAt: 0, version: "1" };
  await pos.connect(set as never);
  expect(await failureOf(pos.tokens("shop").token())).toBeInstanceOf(TokenEndpointError);
  await ended;
});
