import { describe, expect, test } from "vitest";
import { failureOf, start } from "../../testing/fake-service.js";
import type { AcceptRetailer } from "../settings/options.js";
import { RetailerNotAcceptedError } from "../vocabulary/errors.js";

describe("acceptRetailer", () => {
  test("is asked for the checked prefix before anything goes to that retailer's host", async () => {
    const seen: unknown[] = [];
    const { pos, service } = start({
      acceptRetailer: async (domainPrefix) => {
        seen.push(domainPrefix, service.seen.length);
        return true;
      },
    });
    expect(await pos.exchange("Shop", "code")).toMatchObject({ domainPrefix: "shop" });
    expect(seen).toEqual(["shop", 0]);
    expect(service.seen).toHaveLength(1);
  });

  const noes: Array<{ name: string; acceptRetailer: () => unknown }> = [
    { name: "false", acceptRetailer: () => false },
    { name: "false later", acceptRetailer: async () => false },
    { name: "nothing, because it forgot to return", acceptRetailer: () => undefined },
    { name: "something that is not true", acceptRetailer: () => "no" },
  ];
  for (const { name, acceptRetailer } of noes) {
    test(`refuses the login with an error of its own, and nothing is sent: ${name}`, async () => {
      const { pos, service, events } = start({ acceptRetailer: acceptRetailer as AcceptRetailer });
      const error = await failureOf(pos.exchange("shop", "code"));
      expect(error).toBeInstanceOf(RetailerNotAcceptedError);
      expect(error).toMatchObject({
        code: "retailer_not_accepted",
        status: 403,
        expose: true,
        domainPrefix: "shop",
      });
      expect(service.seen).toEqual([]);
      expect(events).toEqual([
        expect.objectContaining({ type: "exchange_failed", domainPrefix: "shop", error }),
      ]);
    });
  }

  test("that throws or rejects refuses too; its error reaches the caller", async () => {
    const reason = new Error("the directory is down");
    const thrown = () => {
      throw reason;
    };
    for (const acceptRetailer of [thrown, () => Promise.reject(reason)]) {
      const { pos, service } = start({ acceptRetailer });
      expect(await failureOf(pos.exchange("shop", "code"))).toBe(reason);
      expect(service.seen).toEqual([]);
    }
  });

  test("is not asked about what is no domain prefix, nor where nobody logs in", async () => {
    const asked: string[] = [];
    const { pos, login, value } = start({ acceptRetailer: (domainPrefix) => asked.push(domainPrefix) > 0 });
    await failureOf(pos.exchange("evil.example/", "code"));
    expect(asked).toEqual([]);
    await login();
    await value();
    expect(asked).toEqual(["shop"]);
  });
});
