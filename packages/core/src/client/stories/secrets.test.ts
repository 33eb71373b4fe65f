import { inspect } from "node:util";
import { describe, expect, test } from "vitest";
import { connected, retailerClient } from "../../../testing/retailer-client.js";
import { parseDomainPrefix } from "../../vocabulary/domain-prefix.js";
import { personalToken } from "../personal-token.js";

describe("an error of the fetch in use", () => {
  const bearer = "Bearer personal-canary";
  type Call = Parameters<typeof globalThis.fetch>;
  const leaks: Array<{ name: string; thrown: (...call: Call) => unknown }> = [
    { name: "its request's headers", thrown: (_, init) => Object.assign(new Error("failed"), { init }) },
    {
      name: "headers in a cause's cause",
      thrown: (_, init) => new Error("a", { cause: { cause: init?.headers } }),
    },
    {
      name: "a Request",
      thrown: (...call) => Object.assign(new Error("failed"), { request: new Request(...call) }),
    },
    {
      name: "an AggregateError",
      thrown: (_, init) => new AggregateError([new Error("a"), init?.headers], "failed"),
    },
    { name: "its message", thrown: () => new TypeError(`cannot send ${bearer}`) },
    {
      name: "plain headers",
      thrown: (_, init) => ({ headers: Object.fromEntries(new Headers(init?.headers)) }),
    },
    { name: "the headers themselves", thrown: (_, init) => init?.headers },
    { name: "a text", thrown: () => `no route for ${bearer}` },
    {
      name: "a Buffer",
      thrown: () => Object.assign(new Error("failed"), { sent: Buffer.from(`GET / ${bearer}`) }),
    },
    { name: "base64", thrown: () => new Error(Buffer.from(bearer).toString("base64")) },
  ];
  for (const { name, thrown } of leaks) {
    test(`does not show the bearer: ${name}`, async () => {
      const client = throwing((...call) => thrown(...call));
      const error = await client.fetch("/api/products").catch((reason: unknown) => reason);
      expect(error).toBeInstanceOf(Error);
      const shown = `${inspect(error, { depth: 20, showHidden: true })} ${(error as Error).stack}`;
      expect(shown).not.toMatch(/canary|Y2FuYXJ5|Y2FuYX/);
    });
  }

  test("that shows nothing is that very error", async () => {
    for (const error of [
      new TypeError("fetch failed", { cause: Object.assign(new Error("refused"), { code: "ECONNREFUSED" }) }),
      new DOMException("The operation timed out", "TimeoutError"),
      new RangeError("own"),
    ]) {
      await expect(throwing(() => error).fetch("/api/products")).rejects.toBe(error);
    }
  });

  test("that is the reason of the caller's own abort is that reason, whatever it holds", async () => {
    for (const reason of [new Error(bearer), { why: bearer }, bearer]) {
      const controller = new AbortController();
      const client = throwing((_, { signal } = {}) => {
        controller.abort(reason);
        return signal?.reason;
      });
      await expect(client.fetch("/api/products", { signal: controller.signal })).rejects.toBe(reason);
    }
  });

  test("of the retry is searched for the new bearer", async () => {
    const { pos } = await connected({ fetch: async () => Response.json({ access_token: "renewed-canary" }) });
    let calls = 0;
    const client = retailerClient({
      domainPrefix: parseDomainPrefix("shop"),
      baseUrl: "https://shop.retail.example",
      source: pos.tokens("shop"),
      renews: true,
      sharesOrigin: false,
      fetch: async (_, init) => {
        calls += 1;
        if (calls === 1) return new Response(null, { status: 401 });
        throw Object.assign(new Error("failed"), { init });
      },
    });
    const error = await client.fetch("/api/products").catch((reason: unknown) => reason);
    expect([calls, (error as Error).message]).toEqual([2, "failed"]);
    expect(inspect(error, { depth: 20, showHidden: true })).not.toContain("canary");
  });

  function throwing(thrown: (...call: Call) => unknown) {
    return personalToken({
      baseUrl: "https://{domain_prefix}.retail.example",
      domainPrefix: "shop",
      token: "personal-canary",
      fetch: async (...call) => {
        throw thrown(...call);
      },
    });
  }
});
