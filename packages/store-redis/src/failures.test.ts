import { rmSync } from "node:fs";
import { inspect } from "node:util";
import { type DomainPrefix, retailPos, type TokenSet } from "@retail-pos/core";
import { afterAll, describe, expect, test } from "vitest";
import { canRun, kinds, prefix, sweep, url } from "../testing/redis.js";
import { type RedisServer, startServer, until } from "../testing/server.js";
import { type Cut, wireTo } from "../testing/wire.js";
import { redisTokens } from "./index.js";

const retailer = "harbour-coffee" as DomainPrefix;
const set: TokenSet = {
  domainPrefix: retailer,
  access: { value: "canary-access", expiresAt: 1_767_225_600_123 },
  refreshToken: "canary-refresh",
  issuedAt: 1_767_139_200_456,
  version: "one",
};
const next: TokenSet = {
  domainPrefix: retailer,
  access: { value: "canary-access-2" },
  refreshToken: "canary-refresh-2",
  issuedAt: 1_767_225_600_000,
  version: "two",
};

const application = {
  authUrl: "https://secure.pos.example",
  baseUrl: "https://{domain_prefix}.pos.example",
  clientId: "id",
  clientSecret: "secret",
  redirectUri: "https://app.example/callback",
};

describe.skipIf(!canRun).each(kinds)("a connection of %s that breaks", (_kind, connect) => {
  afterAll(sweep);

  /** Whether the set may have been saved, seen from outside. */
  const cuts: [Cut, boolean][] = [
    ["before the command arrives", false],
    ["in the middle of the command", false],
    ["before the answer arrives", true],
  ];
  test.each(cuts)(
    "%s: the stored set is the old or the new one, whole, and the client goes on",
    async (how, arrives) => {
      const [direct, wire] = [await connect(), await wireTo(url)];
      const cut = await connect(wire.url);
      try {
        const outside = redisTokens({ ...direct, prefix }).store;
        const { store } = redisTokens({ ...cut, prefix });
        await outside.save(set);
        await store.load(retailer);
        wire.cutNext(how);
        // Some clients say that the connection broke, others ask again: then a set that had arrived is not replaced.
        const outcome = await store.save(next, set).catch((error: unknown) => error);
        const stored = await outside.load(retailer);
        expect(stored).toEqual(arrives || outcome === true ? next : set);
        if (outcome instanceof Error) {
          expect(outcome.message).toMatch(/^Redis could not save the tokens of retailer "harbour-coffee": ./);
          expect(shownBy(outcome)).not.toContain("canary");
        } else expect(outcome).toBe(!arrives);
        await until(() => store.load(retailer).then(Boolean, () => false));
        expect(await store.load(retailer)).toEqual(stored);
      } finally {
        await Promise.all([cut.close(), direct.close()]);
        wire.close();
      }
    },
  );
});

/** States of a server in which it takes no writes, and how it comes to them. */
const states: Record<
  string,
  { settings: Record<string, string>; reach: (server: RedisServer) => Promise<unknown>; says: RegExp }
> = {
  "whose disk is full": {
    settings: { save: "3600 1000000" },
    async reach({ admin, folder }) {
      rmSync(folder, { recursive: true }); // it can write no snapshot any more, for whatever reason
      await admin.bgsave();
      await until(async () => (await admin.info("persistence")).includes("rdb_last_bgsave_status:err"));
    },
    says: /MISCONF/,
  },
  "that became a replica": {
    settings: {},
    reach: ({ admin }) => admin.replicaof("127.0.0.1", 1),
    says: /READONLY/,
  },
};

const hasServer = canRun && (await startServer().then((server) => server?.close().then(() => true)));
if (!hasServer && process.env["NO_SKIP"])
  throw new Error("With NO_SKIP=1 nothing may be skipped: no redis-server to start");

describe.skipIf(!hasServer).each(Object.entries(states))("a Redis %s", (_what, { settings, reach, says }) => {
  test.each(kinds)(
    "is an error without tokens through %s; what was stored stays whole",
    async (_kind, connect) => {
      const server = (await startServer(settings)) as RedisServer;
      const connection = await connect(server.url);
      try {
        const { store, lock } = redisTokens(connection);
        await store.save(set);
        await reach(server);
        const errors = await Promise.all(
          [
            store.save(next, set),
            store.save(next),
            store.remove(retailer),
            lock("id/shop", async () => {}),
          ].map((asked) =>
            asked.then(
              () => expect.unreachable("it should have failed"),
              (error: unknown) => error,
            ),
          ),
        );
        for (const error of errors) {
          expect(error).toMatchObject({ message: expect.stringMatching(/^Redis could not /) });
          expect((error as Error).message).toMatch(says);
          expect(shownBy(error)).not.toContain("canary");
        }
        expect(await store.load(retailer)).toEqual(set);
      } finally {
        await connection.close();
        await server.close();
      }
    },
  );
});

test.skipIf(!hasServer)(
  "a Redis that cannot be reached ends each call after core's limit, through clients without limits too; a queued save may be done later",
  async () => {
    const server = (await startServer()) as RedisServer;
    const clients = await Promise.all(kinds.map(([, connect]) => connect(server.url)));
    await server.close();
    const codes = await Promise.all(
      clients.map(({ client }, at) => {
        const pos = retailPos({ ...application, ...redisTokens({ client, prefix: `${at}:` }) });
        return pos.connect(set).then(
          () => "connected",
          (error: { code?: string }) => error.code,
        );
      }),
    );
    expect(codes).toEqual(kinds.map(() => "store_failed"));

    const again = (await startServer({ port: server.port })) as RedisServer;
    try {
      await until(async () => (await again.admin.exists(`0:{${retailer}}:tokens`)) === 1); // ioredis
    } finally {
      await Promise.all(clients.map(({ close }) => close()));
      await again.close();
    }
  },
);

describe.skipIf(!hasServer)("a Redis whose memory is full", () => {
  test.each(kinds)(
    "takes a newer set all the same through %s; its lock is an error",
    async (_kind, connect) => {
      const server = (await startServer()) as RedisServer;
      const connection = await connect(server.url);
      try {
        const { store, lock } = redisTokens(connection);
        await store.save(set);
        await server.admin.config("SET", "maxmemory", 1, "maxmemory-policy", "noeviction");
        await expect(server.admin.set("any", "value")).rejects.toThrow("OOM");
        await expect(lock("id/shop", async () => {})).rejects.toThrow(/^Redis could not take the lock .*OOM/);
        // The refresh token in it may be the only one: a renewal under way when the memory ran out loses nothing.
        expect(await store.save(next, set)).toBe(true);
        expect(await store.load(retailer)).toEqual(next);
        expect(await store.save(set)).toBe(true);
        expect(await store.load(retailer)).toEqual(set);
      } finally {
        await connection.close();
        await server.close();
      }
    },
  );
});

function shownBy(error: unknown): string {
  return inspect(error, { depth: 9, showHidden: true }) + JSON.stringify(error);
}
