import { Readable } from "node:stream";
import { describe, expect, test } from "vitest";
import { retailerClient, shop, tokenSet } from "../../../testing/retailer-client.js";
import { memoryStore } from "../../store/memory-store.js";
import { parseDomainPrefix } from "../../vocabulary/domain-prefix.js";
import { ReconnectRequiredError } from "../../vocabulary/errors.js";

describe("a 401", () => {
  test("is answered by one renewal and one retry", async () => {
    const { client, renewals, seen } = await shop({ accepts: "access-2" });
    const response = await client.fetch("/api/products");
    expect([response.status, await response.text()]).toEqual([200, "ok"]);
    expect(seen.map(({ headers }) => headers.authorization)).toEqual(["Bearer access-1", "Bearer access-2"]);
    expect(renewals()).toBe(1);
    expect((await client.token()).value).toBe("access-2");
  });

  test("is, though its body is one of Node's streams", async () => {
    const withNodeStream: typeof globalThis.fetch = async (...call) => {
      const response = await globalThis.fetch(...call);
      if (response.status !== 401) return response;
      return Object.defineProperty(response, "body", { value: Readable.from(["no"]) });
    };
    const { client } = await shop({ accepts: "access-2", options: { fetch: withNodeStream } });
    expect((await client.fetch("/api/products")).status).toBe(200);
  });

  test("of the retry is returned: at most one retry", async () => {
    const { client, renewals, seen } = await shop({ accepts: "nothing" });
    const response = await client.fetch("/api/products");
    expect([response.status, await response.text()]).toEqual([401, "no"]);
    expect([seen.length, renewals()]).toEqual([2, 1]);
  });

  test("replaces a custom Authorization in the retry, too", async () => {
    const { client, seen } = await shop({ accepts: "access-2" });
    await client.fetch("/api/products", { headers: { AUTHORIZATION: "Bearer mine", "x-mine": "1" } });
    expect(seen[1]?.headers).toMatchObject({ authorization: "Bearer access-2", "x-mine": "1" });
  });

  test("of a token that the store has replaced already renews nothing", async () => {
    const store = memoryStore();
    const { client, renewals, seen } = await shop({
      accepts: "access-of-another-process",
      options: { store },
    });
    await client.token();
    await store.save(tokenSet({ access: { value: "access-of-another-process" }, version: "2" }));
    expect((await client.fetch("/api/products")).status).toBe(200);
    expect(seen).toHaveLength(2);
    expect(renewals()).toBe(0);
  });

  test("of many calls at once costs one renewal", async () => {
    const { client, renewals, seen } = await shop({ accepts: "access-2" });
    const responses = await Promise.all(Array.from({ length: 20 }, () => client.fetch("/api/products")));
    expect(responses.map(({ status }) => status)).toEqual(Array(20).fill(200));
    expect(renewals()).toBe(1);
    expect(seen.length).toBeLessThanOrEqual(40);
  });

  test("that one address answers to every token is returned each time, and the others are served", async () => {
    const { client, renewals } = await shop({
      api: (request, response) => response.writeHead(request.url?.endsWith("/plan") ? 401 : 200).end("text"),
    });
    for (let count = 0; count < 20; count += 1) {
      const response = await client.fetch("/api/plan", { method: "POST", body: "text" });
      expect([response.status, await response.text()]).toEqual([401, "text"]);
      expect((await client.fetch("/api/products")).status).toBe(200);
    }
    expect(renewals()).toBe(10);
  });

  for (const status of [400, 403, 404, 429, 500, 503]) {
    test(`is a 401 and not a ${status}, which is returned as it is`, async () => {
      const { client, renewals, seen } = await shop({
        api: (_, response) => response.writeHead(status).end("no"),
      });
      const response = await client.fetch("/api/products");
      expect([response.status, await response.text()]).toEqual([status, "no"]);
      expect([seen.length, renewals()]).toEqual([1, 0]);
    });
  }

  test("whose renewal is refused is a ReconnectRequiredError", async () => {
    const { client, seen } = await shop({ accepts: "nothing", refuses: true });
    await expect(client.fetch("/api/products")).rejects.toThrow(ReconnectRequiredError);
    expect(seen).toHaveLength(1);
  });

  test("whose renewal fails at once leaves no rejection unhandled, however slowly its body goes away", async () => {
    const unhandled: unknown[] = [];
    const note = (reason: unknown) => unhandled.push(reason);
    process.on("unhandledRejection", note);
    const client = retailerClient({
      domainPrefix: parseDomainPrefix("shop"),
      baseUrl: "https://shop.retail.example",
      renews: true,
      sharesOrigin: false,
      fetch: async () => {
        const cancel = () => new Promise<void>((resolve) => setImmediate(() => setImmediate(resolve)));
        return new Response(new ReadableStream({ cancel }), { status: 401 });
      },
      source: {
        token: async ({ rejected } = {}) => {
          if (rejected) throw new ReconnectRequiredError("refused");
          return { value: "access" };
        },
      },
    });
    await expect(client.fetch("/api/products")).rejects.toThrow(ReconnectRequiredError);
    process.off("unhandledRejection", note);
    expect(unhandled).toEqual([]);
  });
});
