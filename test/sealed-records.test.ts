import { randomBytes } from "node:crypto";
import type { DomainPrefix, RetailerStatus, TokenStore } from "@retail-pos/core";
import { type SealedStoreOptions, sealedStore } from "@retail-pos/sealed-store";
import { CompactEncrypt } from "jose";
import { describe, expect, test } from "vitest";
import {
  DAY_MS,
  failureOf,
  fakeService,
  json,
  oauthError,
  type Started,
  start,
} from "../packages/core/testing/fake-service.js";
import { engines, newTokens } from "./support/every-store.js";

const SHOP = "shop" as DomainPrefix;
const keys = [{ id: "2026-01", secret: randomBytes(32) }];
const otherSecret = [{ id: "2026-01", secret: randomBytes(32) }];
const otherKey = [{ id: "2026-07", secret: randomBytes(32) }];

/** Processes that cannot open the records, and what each of them says. */
const forgotten: [string, (store: TokenStore) => TokenStore, RegExp][] = [
  [
    "without sealedStore",
    (store) => store,
    /it is sealed, .* Give this process sealedStore\(\) with its keys\. Nothing was changed$/,
  ],
  [
    "with another secret under the same id",
    (store) => sealedStore(store, { keys: otherSecret }),
    /the key "2026-01" has another secret now\. Mend the secret/,
  ],
  [
    "without the key",
    (store) => sealedStore(store, { keys: otherKey }),
    /sealed with the key "2026-01", which is not among keys\. Give that key/,
  ],
];

/** Everything that a process asks of a retailer that is stored. */
const asked: [string, (process: Started) => Promise<unknown>][] = [
  ["a token", ({ shop }) => shop.token()],
  ["a token in the place of a rejected one", ({ shop }) => shop.token({ rejected: "access-shop-1" })],
  ["a call", ({ pos }) => pos.retailer("shop").fetch("api/products")],
  ["its status", ({ pos }) => pos.status("shop")],
];

/** How old the tokens are; whether they are due; and which token the sealed process gives at the end. */
const times: [string, number, number, string][] = [
  ["lives", 0, 0, "access-shop-1"],
  ["is to be renewed early", DAY_MS - 60_000, 1, "access-shop-1"],
  ["has ended", 2 * DAY_MS, 1, "access-shop-2"],
];

describe.each(engines)("a sealed record, %s", (engine) => {
  describe.each(forgotten)("in a process %s", (_process, wrap, words) => {
    test.each(times)(
      "that %s: nothing is sent or written, each question is answered bad_stored_tokens, and the seal still opens",
      async (_time, passed, due, value) => {
        const { store, lock } = await newTokens(engine);
        const sealed = start({ store: sealedStore(store, { keys }), ...(lock && { lock }) });
        await sealed.login();
        const before = await store.load(SHOP);
        sealed.time.now += passed;

        const service = fakeService();
        const process = start({ store: wrap(store), ...(lock && { lock }) }, service, sealed.time);
        for (const [, ask] of asked) {
          const error = await failureOf(ask(process));
          expect(error).toMatchObject({ code: "bad_stored_tokens", status: 500, domainPrefix: "shop" });
          expect(String(error)).toMatch(words);
        }
        expect(await process.pos.renewDue()).toMatchObject({ seen: 1, renewed: 0, refused: 0, failed: due });
        expect(service.seen).toEqual([]);
        expect(await store.load(SHOP)).toEqual(before);
        expect(await sealed.value()).toBe(value);
      },
    );
  });

  test("is replaced by a login, as every record: its tokens may be the only ones that work. One seal mends it", async () => {
    const { store, lock } = await newTokens(engine);
    const sealed = start({ store: sealedStore(store, { keys }), ...(lock && { lock }) });
    await sealed.login();
    const forgot = start({ store, ...(lock && { lock }) }, sealed.service, sealed.time);
    await forgot.login();
    expect(await forgot.value()).toBe("access-shop-2");
    const restarted = start({ store: sealedStore(store, { keys }) }, sealed.service, sealed.time);
    expect(String(await failureOf(restarted.value()))).toMatch(/it only needs sealing: retail-pos seal$/);
    expect(await sealedStore(store, { keys }).seal("shop")).toBe("sealed");
    expect(await restarted.value()).toBe("access-shop-2");
  });

  test("is listed without its keys, since a list reads no token", async () => {
    const { store } = await newTokens(engine);
    await start({ store: sealedStore(store, { keys }) }).login();
    const listed: RetailerStatus[] = [];
    for await (const status of start({ store }).pos.retailers()) listed.push(status);
    expect(listed).toMatchObject([{ domainPrefix: "shop" }]);
  });

  test("may hold tokens of any look, also those that look like a seal, as a plain one may", async () => {
    const token = await new CompactEncrypt(Buffer.from("x"))
      .setProtectedHeader({ alg: "dir", enc: "A256GCM", kid: "2026-01", ...{ retailer: "shop" } })
      .encrypt(randomBytes(32));
    const { store } = await newTokens(engine);
    const phases: (SealedStoreOptions | undefined)[] = [
      undefined,
      { keys, plain: "write" },
      { keys, plain: "read" },
      { keys },
    ];
    const service = fakeService();
    service.always(() => json({ access_token: token, expires_in: 86_400, refresh_token: token }));
    for (const options of phases) {
      const process = start({ store: options ? sealedStore(store, options) : store }, service);
      await process.login();
      process.time.now += 2 * DAY_MS;
      expect(await process.value()).toBe(token);
      expect(service.spent().at(-1)).toBe(token);
    }
  });

  test.each([
    ["renewal", undefined, "access-shop-2"],
    ["refused renewal", () => oauthError("invalid_grant"), undefined],
  ])(
    "that was made during a %s of a process that does not open seals: the new tokens are kept, no mark is",
    async (_what, answer, expected) => {
      const { store, lock } = await newTokens(engine);
      const forgot = start({ store, ...(lock && { lock }) });
      await forgot.login();
      forgot.time.now += 2 * DAY_MS;
      forgot.service.next(async (_seen, regular) => {
        expect(await sealedStore(store, { keys }).seal("shop")).toBe("sealed");
        return answer?.() ?? regular();
      });
      const outcome = await forgot.value().catch(({ code }) => code);
      expect(outcome).toBe(expected ?? "bad_stored_tokens");
      const both = sealedStore(store, { keys, plain: "read" });
      expect((await both.load(SHOP))?.access.value).toBe(expected ?? "access-shop-1");
      expect(await both.load(SHOP)).not.toHaveProperty("refusedAt");
    },
  );
});
