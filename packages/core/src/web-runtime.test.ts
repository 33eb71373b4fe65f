import { beforeAll, describe, expect, test } from "vitest";
import { inRealm, webRealm } from "../../../test/support/web-realm.js";
import type * as Core from "./index.js";

// Core where there is no Node: no `process`, no `Buffer`, no module of Node's, and a timer is a number.

const T0 = Date.UTC(2030, 0, 1);
let realm: object;
let core: typeof Core;

beforeAll(async () => {
  realm = webRealm();
  core = await inRealm<typeof Core>(realm, "packages/core/src/index.ts");
});

test("the realm has nothing of Node's", () => {
  for (const name of ["process", "Buffer", "setImmediate", "require", "global"])
    expect(name in realm).toBe(false);
});

describe("without Node", () => {
  test("a retailer logs in, calls, is renewed when the token ends, and logs out", async () => {
    const { pos, seen, time } = application();
    expect(pos.authorizationUrl("state-of-a-login").searchParams.get("client_id")).toBe("id");
    const tokens = await pos.exchange("shop", "code");
    await pos.connect(tokens);
    expect(await (await pos.retailer("shop").fetch("/api/products")).text()).toBe("Bearer access-1");
    time.now += 3_600_000;
    expect(await (await pos.retailer("shop").fetch("/api/products")).text()).toBe("Bearer access-2");
    await pos.disconnect("shop");
    await expect(pos.tokens("shop").token()).rejects.toMatchObject({ code: "not_connected" });
    expect(seen.filter((url) => url.endsWith("/token"))).toHaveLength(2);
    expect(await pos.claim("key", 1000)).toBe(true);
    expect(await pos.claim("key", 1000)).toBe(false);
  });

  test("a runtime that refuses cache modes is given none, and the rest of what keeps caches away", async () => {
    const old = await inRealm<typeof Core>(
      Object.assign(webRealm(), { Request: RequestWithoutCache }),
      "packages/core/src/index.ts",
    );
    const given: unknown[] = [];
    const pos = old.retailPos({
      ...options,
      fetch: async (input, init) => {
        given.push({ ...init, headers: { ...init?.headers } });
        return Response.json({ url: new RequestWithoutCache(input, init).url });
      },
    });
    await expect(pos.exchange("shop", "code")).rejects.toMatchObject({ code: "bad_token_response" });
    expect(given).toEqual([expect.objectContaining({ method: "POST", next: { internal: true } })]);
  });

  test("a token response in many pieces is read, also from a stream that cannot be iterated", async () => {
    for (const isIterable of [true, false]) {
      const { pos } = application((body) => pieces(body, isIterable));
      expect(await pos.exchange("shop", "code")).toMatchObject({ access: { value: "access-1" } });
    }
  });

  test("a token response that is too long is refused, and its stream let go", async () => {
    for (const isIterable of [true, false]) {
      let isCancelled = false;
      const endless = () => {
        const stream = new ReadableStream({
          pull: (controller) => controller.enqueue(new Uint8Array(100_000)),
          cancel: () => {
            isCancelled = true;
          },
        });
        return isIterable ? stream : notIterable(stream);
      };
      const { pos } = application(endless);
      await expect(pos.exchange("shop", "code")).rejects.toMatchObject({ code: "bad_token_response" });
      expect(isCancelled).toBe(true);
    }
  });

  test("a caller's abort ends its wait, and a deadline ends a request", async () => {
    const { pos, time } = application();
    await pos.connect(await pos.exchange("shop", "code"));
    time.now += 3_600_000;
    const reason = new Error("enough");
    const controller = new AbortController();
    const waiting = pos.tokens("shop").token({ signal: controller.signal });
    controller.abort(reason);
    await expect(waiting).rejects.toBe(reason);

    const never = core.retailPos({ ...options, timeoutMs: 20, fetch: () => new Promise(() => {}) });
    await expect(never.exchange("shop", "code")).rejects.toMatchObject({ code: "token_endpoint_failed" });
  });

  test("errors are answers, and show no secret", async () => {
    const leaky = core.retailPos({
      ...options,
      fetch: async (_, init) => {
        throw Object.assign(new TypeError("fetch failed"), {
          sent: new TextEncoder().encode(`${init?.body}`),
        });
      },
    });
    const error = await leaky.exchange("shop", "canary-code").catch((reason: unknown) => reason);
    expect(core.isRetailPosError(error)).toBe(true);
    expect((error as Core.RetailPosError).getResponse().status).toBe(502);
    expect((error as Error).cause).toMatchObject({ name: "TypeError", message: "fetch failed" });
    expect((error as Error).cause).not.toHaveProperty("sent");

    const harmless = new TypeError("fetch failed");
    const pos = core.retailPos({ ...options, fetch: () => Promise.reject(harmless) });
    expect((await pos.exchange("shop", "code").catch((reason: Error) => reason)) as Error).toHaveProperty(
      "cause",
      harmless,
    );
  });

  test("a request's bearer is put on the web's Request, and settings are read from what is given", async () => {
    const { pos } = application();
    await pos.connect(await pos.exchange("shop", "code"));
    const request = new Request("https://app.example", { headers: { authorization: "Bearer theirs" } });
    const bearerOf = core.requestBearer({ client: pos, retailer: () => "shop", header: true });
    expect(await bearerOf({}, request)).toMatchObject({ accessToken: "access-1" });
    expect(request.headers.get("authorization")).toBe("Bearer access-1");
    expect(() => core.settingsFromEnv()).toThrow(/RETAIL_POS_BASE_URL is missing/);
  });

  test("a lease is taken, extended and let go", async () => {
    const done: string[] = [];
    const lock = core.leaseLock({
      take: async () => done.push("take") > 0,
      extend: async () => done.push("extend") > 0,
      release: async () => done.push("release"),
      leaseMs: 30,
    });
    const slow = () => new Promise<string>((resolve) => setTimeout(resolve, 100, "work"));
    expect(await lock("key", slow)).toBe("work");
    expect([done[0], done.includes("extend"), done.at(-1)]).toEqual(["take", true, "release"]);
  });
});

const options = {
  authUrl: "https://auth.example",
  baseUrl: "https://{domain_prefix}.retail.example",
  clientId: "id",
  clientSecret: "canary-secret",
  redirectUri: "https://app.example/callback",
};

/** workerd's, before the compatibility date 2024-11-11. */
class RequestWithoutCache extends Request {
  constructor(input: string | URL | Request, init?: RequestInit) {
    if (init && "cache" in init) throw new Error("The 'cache' field is not implemented.");
    super(input, init);
  }
}

/** A client and its service; the endpoint's body may be given in another shape. */
function application(shaped: (body: string) => string | ReadableStream = (body) => body) {
  const seen: string[] = [];
  const time = { now: T0 };
  let issued = 0;
  const pos = core.retailPos({
    ...options,
    clock: () => time.now,
    fetch: async (input, init) => {
      const request = new Request(input, init);
      seen.push(request.url);
      if (!request.url.endsWith("/token")) return new Response(request.headers.get("authorization"));
      issued += 1;
      const tokens = {
        access_token: `access-${issued}`,
        refresh_token: `refresh-${issued}`,
        expires_in: 3600,
      };
      return answerWith(shaped(JSON.stringify(tokens)));
    },
  });
  return { pos, seen, time };
}

/** With the very stream that was given: a Response of Node's makes each into one that can be iterated. */
function answerWith(body: string | ReadableStream): Response {
  const response = new Response(typeof body === "string" ? body : null);
  return typeof body === "string" ? response : Object.defineProperty(response, "body", { value: body });
}

function pieces(text: string, isIterable: boolean): ReadableStream {
  const bytes = new TextEncoder().encode(text);
  const stream = new ReadableStream({
    start(controller) {
      for (let at = 0; at < bytes.length; at += 10) controller.enqueue(bytes.slice(at, at + 10));
      controller.close();
    },
  });
  return isIterable ? stream : notIterable(stream);
}

/** As in browsers that lack `ReadableStream.prototype[Symbol.asyncIterator]`. */
function notIterable(stream: ReadableStream): ReadableStream {
  return { getReader: () => stream.getReader(), cancel: () => stream.cancel() } as never;
}
