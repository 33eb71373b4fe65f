import { describe, expect, test } from "vitest";
import { type RetailPos, retailPos } from "../retail-pos.js";
import { parseDomainPrefix } from "../vocabulary/domain-prefix.js";
import {
  NotConnectedError,
  RateLimitedError,
  ReconnectRequiredError,
  type RetailPosError,
} from "../vocabulary/errors.js";
import { type BearerOptions, type RequestBearer, requestBearer } from "./request-bearer.js";
import type { RequestMessage } from "./set-authorization.js";

const T0 = Date.UTC(2030, 0, 1);
/** As some platforms hand out the headers of what came in. */
const immutable = Response.redirect("https://app.example", 302).headers;
const personalToken = {
  baseUrl: "https://{domain_prefix}.retail.example",
  domainPrefix: "shop",
  token: "personal",
  fetch: async () => new Response("ok"),
};

describe("a request's bearer", () => {
  test("is its retailer's client with the token of the moment", async () => {
    const { calls, pos } = await connected();
    const bearer = await requestBearer({ client: pos, retailer: () => "Shop" })({}, { headers: {} });
    expect(bearer).toMatchObject({
      domainPrefix: "shop",
      baseUrl: "https://shop.retail.example",
      accessToken: "access-1",
      authorization: "Bearer access-1",
    });
    expect((await bearer?.token())?.value).toBe("access-1");
    await bearer?.fetch("/api/products");
    expect(calls).toEqual(["https://shop.retail.example/api/products Bearer access-1"]);
  });

  test("comes later where the retailer comes later", async () => {
    const { pos } = await connected();
    // biome-ignore lint/suspicious/noThenProperty: a query builder's query is such an object
    const query = { then: Promise.prototype.then.bind(Promise.resolve("shop")) } as PromiseLike<string>;
    for (const retailer of [async () => "shop", () => query]) {
      expect(await requestBearer({ client: pos, retailer })({}, { headers: {} })).toMatchObject({
        accessToken: "access-1",
      });
    }
  });

  test("is renewed first where it has run out", async () => {
    const { calls, pos, time } = await connected();
    time.now = T0 + 86_400_000;
    const bearer = await requestBearer({ client: pos, retailer: () => "shop" })({}, { headers: {} });
    expect(bearer).toMatchObject({ accessToken: "access-2", authorization: "Bearer access-2" });
    expect(calls).toEqual(["https://shop.retail.example/api/1.0/token null"]);
  });

  test("is asked for with the context, and each request gets its own", async () => {
    const { pos } = await connected("shop", "other");
    const bearerOf = requestBearer<{ user: string }>({ client: pos, retailer: ({ user }) => user });
    const names = ["shop", "other", "shop", "other"];
    const bearers = await Promise.all(names.map((user) => bearerOf({ user }, { headers: {} })));
    expect(bearers.map((bearer) => bearer?.domainPrefix)).toEqual(names);
    expect(bearers[0]).not.toBe(bearers[2]);
  });

  test("keeps the token of its request, while its client goes on with the newest", async () => {
    const { pos, time } = await connected();
    const bearer = await requestBearer({ client: pos, retailer: () => "shop" })({}, { headers: {} });
    time.now = T0 + 86_400_000;
    expect((await bearer?.token())?.value).toBe("access-2");
    expect(bearer?.accessToken).toBe("access-1");
  });

  test("cannot be given another token by mistake, and does not show its own when the request is logged", async () => {
    const bearer = await requestBearer({ personalToken })({}, { headers: {} });
    expect(() => Object.assign(bearer ?? {}, { accessToken: "changed" })).toThrow(TypeError);
    expect(Object.keys(bearer ?? {})).not.toContain("accessToken");
    expect(JSON.stringify({ bearer, copy: { ...bearer } })).not.toContain("personal");
  });
});

test("a bearer can be copied, wrapped and changed, like the client it is", async () => {
  const { calls, pos } = await connected();
  const bearerOf = requestBearer({ client: pos, retailer: () => "shop" });
  const bearer = (await bearerOf({}, { headers: {} })) as RequestBearer;
  for (const other of [{ ...bearer }, Object.create(bearer) as RequestBearer, new Proxy(bearer, {})]) {
    const { fetch, token } = other;
    expect((await token()).value).toBe("access-1");
    await fetch("/api/products");
  }
  expect(calls).toEqual(Array(3).fill("https://shop.retail.example/api/products Bearer access-1"));

  bearer.fetch = async () => new Response("traced");
  expect(await (await bearer.fetch("/api/products")).text()).toBe("traced");
  const next = await bearerOf({}, { headers: {} });
  expect(await (await next?.fetch("/api/products"))?.json()).toMatchObject({ access_token: "access-2" });
});

test("a client of the application's own may need its `this`, and the bearer's functions none", async () => {
  const { pos } = await connected();
  class Traced {
    readonly asked: string[] = [];
    readonly client = pos.retailer("shop");
    readonly domainPrefix = this.client.domainPrefix;
    readonly baseUrl = this.client.baseUrl;
    async token() {
      this.asked.push("token");
      return this.client.token();
    }
    async fetch(input: string) {
      this.asked.push(input);
      return this.client.fetch(input);
    }
  }
  const traced = new Traced();
  const client = { ...pos, retailer: () => traced } as unknown as RetailPos;
  const bearer = await requestBearer({ client, retailer: () => "shop" })({}, { headers: {} });
  const { token, fetch } = bearer as Required<NonNullable<typeof bearer>>;
  await token();
  await fetch("/api/products");
  expect(traced.asked).toEqual(["token", "token", "/api/products"]);
});

describe("without a retailer", () => {
  for (const name of [undefined, null, ""]) {
    test(`a request is a NotConnectedError: ${JSON.stringify(name)}`, async () => {
      const { calls, pos } = await connected();
      for (const retailer of [() => name, async () => name]) {
        const error = await failureOf(() => requestBearer({ client: pos, retailer })({}, { headers: {} }));
        expect(error).toBeInstanceOf(NotConnectedError);
        expect(error).toMatchObject({ status: 401 });
      }
      expect(calls).toEqual([]);
    });

    test(`a request goes on with optional: ${JSON.stringify(name)}`, async () => {
      const { pos } = await connected();
      for (const retailer of [() => name, async () => name]) {
        expect(
          await requestBearer({ client: pos, retailer, optional: true })({}, { headers: {} }),
        ).toBeUndefined();
      }
    });
  }

  for (const [given, words] of [
    [{ domainPrefix: "shop" }, "an object"],
    [["shop"], "a list"],
    [7, "a number"],
    [true, "true"],
  ] as const) {
    test(`that is a text a request is a 400 that says what came: ${words}`, async () => {
      const { calls, pos } = await connected();
      for (const retailer of [() => given, async () => given]) {
        const bearerOf = requestBearer({ client: pos, retailer: retailer as never, optional: true });
        expect(await failureOf(() => bearerOf({}, { headers: {} }))).toMatchObject({
          code: "invalid_domain_prefix",
          status: 400,
          message: `The domain prefix is not one DNS label (letters, digits, hyphens): the \`retailer\` option returned ${words}`,
        });
      }
      expect(calls).toEqual([]);
    });
  }

  test("that is connected it is the same: an error, or with optional going on", async () => {
    const { calls, pos } = await connected();
    for (const retailer of [() => "other", async () => "other"]) {
      const error = await failureOf(() => requestBearer({ client: pos, retailer })({}, { headers: {} }));
      expect(error).toBeInstanceOf(NotConnectedError);
      expect(error).toMatchObject({ domainPrefix: "other" });
      expect(
        await requestBearer({ client: pos, retailer, optional: true })({}, { headers: {} }),
      ).toBeUndefined();
    }
    expect(calls).toEqual([]);
  });
});

test("a retailer option that says itself that nobody is connected means the same, at once or later", async () => {
  const { pos } = await connected();
  const thrown = () => {
    throw new NotConnectedError();
  };
  for (const retailer of [thrown, async () => thrown()]) {
    const options = { client: pos, retailer };
    expect(await failureOf(() => requestBearer(options)({}, { headers: {} }))).toBeInstanceOf(
      NotConnectedError,
    );
    const headers: RequestMessage["headers"] = { authorization: "Bearer what-the-visitor-sent" };
    const bearerOf = requestBearer({ ...options, optional: true, header: true });
    expect(await bearerOf({}, { headers })).toBeUndefined();
    expect(headers).toEqual({});
  }
});

describe("optional does not cover what is wrong:", () => {
  test("a refused refresh token and a rate limit are errors", async () => {
    const rows: Array<{ answer: () => Response; error: typeof RetailPosError }> = [
      {
        answer: () => Response.json({ error: "invalid_grant" }, { status: 400 }),
        error: ReconnectRequiredError as never,
      },
      { answer: () => new Response("", { status: 429 }), error: RateLimitedError as never },
    ];
    for (const { answer, error } of rows) {
      const { pos, script, time } = await connected();
      time.now = T0 + 86_400_000;
      script.answer = answer;
      const bearerOf = requestBearer({ client: pos, retailer: () => "shop", optional: true });
      expect(await failureOf(() => bearerOf({}, { headers: {} }))).toBeInstanceOf(error);
    }
  });

  test("what retailer throws or rejects with reaches the caller", async () => {
    const { pos } = await connected();
    const reason = new Error("the session store is down");
    for (const optional of [false, true]) {
      const thrown = () => {
        throw reason;
      };
      for (const retailer of [thrown, () => Promise.reject(reason)]) {
        expect(
          await failureOf(() => requestBearer({ client: pos, retailer, optional })({}, { headers: {} })),
        ).toBe(reason);
      }
    }
  });

  for (const reason of [undefined, null, "route", 0]) {
    test(`what is no error is the cause of one: ${JSON.stringify(reason)}`, async () => {
      const { pos } = await connected();
      const atOnce = () => {
        throw reason;
      };
      for (const retailer of [atOnce, () => Promise.reject(reason)]) {
        const error = await failureOf(() => requestBearer({ client: pos, retailer, optional: true })({}));
        expect(error).toBeInstanceOf(Error);
        expect(error).toMatchObject({ cause: reason });
      }
    });
  }

  test("one request that failed does not poison the next", async () => {
    const { pos } = await connected();
    const bearerOf = requestBearer<string>({ client: pos, retailer: (name) => name });
    const message = { headers: {} };
    await failureOf(() => bearerOf("evil.example/", message));
    await failureOf(() => bearerOf("other", message));
    expect(await bearerOf("shop", message)).toMatchObject({ accessToken: "access-1" });
  });
});

describe("the request's own authorization header", () => {
  test("is not looked at without `header`: Node makes a request's headers on the first look", async () => {
    const { pos } = await connected();
    const unread = {
      get headers(): never {
        throw new Error("looked at");
      },
    };
    const options = { client: pos, retailer: () => "shop" };
    expect(await requestBearer(options)({}, unread)).toMatchObject({ accessToken: "access-1" });
    expect(
      await requestBearer({ ...options, optional: true, retailer: () => undefined })({}, unread),
    ).toBeUndefined();
  });

  const theirs = "Bearer what-the-visitor-sent";

  test("of the web's Request is set and removed too", async () => {
    const { pos } = await connected();
    for (const name of ["shop", undefined]) {
      const request = new Request("https://app.example", {
        headers: { authorization: theirs, accept: "*/*" },
      });
      const bearerOf = requestBearer({ client: pos, retailer: () => name, optional: true, header: true });
      const bearer = await bearerOf({}, request);
      expect([...request.headers]).toEqual([
        ["accept", "*/*"],
        ...(name ? [["authorization", (bearer as RequestBearer).authorization]] : []),
      ]);
    }
  });

  test("cannot be set where there is no message, or one that cannot take it: a TypeError that says so", async () => {
    const { pos } = await connected();
    const fixed = Object.freeze({ authorization: theirs });
    const messages = [
      undefined,
      {},
      { headers: undefined },
      { headers: "text" },
      { headers: fixed },
      { headers: immutable },
    ];
    for (const message of messages as RequestMessage[]) {
      for (const name of ["shop", undefined]) {
        const bearerOf = requestBearer({ client: pos, retailer: () => name, optional: true, header: true });
        await expect(bearerOf({}, message)).rejects.toThrow(TypeError);
        await expect(bearerOf({}, message)).rejects.toThrow(/^header: true needs/);
      }
    }
  });

  test("is not needed without `header`, nor is a message", async () => {
    const { pos } = await connected();
    expect(await requestBearer({ client: pos, retailer: () => "shop" })({})).toMatchObject({
      accessToken: "access-1",
    });
  });

  test("is left alone without the header option", async () => {
    const { pos } = await connected();
    for (const name of ["shop", undefined]) {
      const headers: RequestMessage["headers"] = { authorization: theirs, accept: "*/*" };
      await requestBearer({ client: pos, retailer: () => name, optional: true })({}, { headers });
      expect(headers).toEqual({ authorization: theirs, accept: "*/*" });
    }
  });

  test("is replaced with the header option, whether the bearer comes at once or later", async () => {
    const { pos } = await connected();
    const ways: Array<BearerOptions<unknown>> = [
      { client: pos, retailer: () => "shop" },
      { client: pos, retailer: async () => "shop" },
      { personalToken },
    ];
    for (const way of ways) {
      for (const headers of [{ authorization: theirs }, {}] as RequestMessage["headers"][]) {
        const bearer = await requestBearer({ ...way, header: true })({}, { headers });
        expect(headers).toEqual({ authorization: bearer?.authorization });
      }
    }
  });

  test("is removed with header and optional where there is no token, so that nobody else's goes on", async () => {
    const { pos } = await connected();
    for (const retailer of [() => undefined, async () => undefined, () => "other", async () => "other"]) {
      const headers: RequestMessage["headers"] = { authorization: theirs, accept: "*/*" };
      await requestBearer({ client: pos, retailer, optional: true, header: true })({}, { headers });
      expect(headers).toEqual({ accept: "*/*" });
    }
  });
});

describe("an option that is wrong is a TypeError naming it, before any request:", () => {
  const retailer = () => "shop";
  const client = { retailer: () => {} };
  const rows: Array<{ name: string; options: unknown; named: RegExp }> = [
    { name: "nothing", options: {}, named: /client/ },
    { name: "no client", options: { retailer }, named: /^client must be .*, not undefined$/ },
    {
      name: "a client that is a promise",
      options: { client: Promise.resolve(client), retailer },
      named: /^client must be what retailPos\(\) returns, not a promise$/,
    },
    { name: "misspelt", options: { client, retailr: retailer }, named: /^retailr .* called retailer here$/ },
    { name: "pos for client", options: { pos: client, retailer }, named: /^pos .* called client here$/ },
    {
      name: "headers",
      options: { client, retailer, headers: true },
      named: /^headers .* called header here$/,
    },
    {
      name: "misspelt of a personal token",
      options: { personalToken: { ...personalToken, baseURL: "https://shop.example" } },
      named: /^baseURL .* called baseUrl here$/,
    },
    { name: "a client that is none", options: { client: {}, retailer }, named: /client/ },
    { name: "a client of null", options: { client: null, retailer }, named: /client/ },
    { name: "no retailer", options: { client }, named: /retailer/ },
    {
      name: "a retailer that is a text",
      options: { client, retailer: "shop" },
      named: /^retailer must be a function .*, not a text$/,
    },
    { name: "both ways at once", options: { client, retailer, personalToken }, named: /personalToken/ },
    { name: "a personal token and a client", options: { client, personalToken }, named: /personalToken/ },
    { name: "a personal token and a retailer", options: { retailer, personalToken }, named: /personalToken/ },
    { name: "no token", options: { personalToken: { ...personalToken, token: "" } }, named: /token/ },
    {
      name: "http",
      options: { personalToken: { ...personalToken, baseUrl: "http://retail.example" } },
      named: /baseUrl/,
    },
  ];
  for (const { name, options, named } of rows) {
    test(name, () => {
      expect(() => requestBearer(options as BearerOptions<unknown>)).toThrow(TypeError);
      expect(() => requestBearer(options as BearerOptions<unknown>)).toThrow(named);
    });
  }
});

async function connected(...retailers: string[]) {
  const time = { now: T0 };
  const calls: string[] = [];
  const script = { answer: () => Response.json({ access_token: "access-2", expires_in: 86_400 }) };
  const pos: RetailPos = retailPos({
    authUrl: "https://auth.example",
    baseUrl: "https://{domain_prefix}.retail.example",
    clientId: "client",
    clientSecret: "secret",
    redirectUri: "https://app.example/callback",
    clock: () => time.now,
    fetch: async (input, init) => {
      calls.push(`${input} ${new Headers(init?.headers).get("authorization")}`);
      return script.answer();
    },
  });
  for (const name of retailers.length > 0 ? retailers : ["shop"]) {
    await pos.connect({
      domainPrefix: parseDomainPrefix(name),
      access: { value: "access-1", expiresAt: T0 + 86_400_000 },
      refreshToken: "refresh-1",
      issuedAt: T0,
      version: "1",
    });
  }
  return { calls, pos, script, time };
}

async function failureOf(work: () => unknown): Promise<unknown> {
  try {
    await work();
  } catch (error) {
    return error;
  }
  throw new Error("it did not fail");
}

describe("what is no options is a TypeError that says so:", () => {
  for (const options of [undefined, null, "options", { personalToken: null }, { personalToken: 7 }]) {
    test(JSON.stringify(options) ?? "undefined", () => {
      expect(() => requestBearer(options as never)).toThrow(TypeError);
      expect(() => requestBearer(options as never)).toThrow(/^(options|personalToken) must/);
    });
  }
});
