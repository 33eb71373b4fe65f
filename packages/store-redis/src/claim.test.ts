import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Connection, canRun, connectIoRedis, kinds, prefix, sweep } from "../testing/redis.js";
import { redisTokens } from "./index.js";

const own = `${prefix}claims:`;

describe.skipIf(!canRun)("a claim on Redis", () => {
  let admin: Awaited<ReturnType<typeof connectIoRedis>>;
  beforeAll(async () => {
    admin = await connectIoRedis();
  });
  afterAll(async () => {
    await admin.close();
    await sweep();
  });
  const keysNow = () => admin.client.keys(`${own}*`);

  describe.each(kinds)("through %s", (_kind, connect) => {
    let connection: Connection;
    beforeAll(async () => {
      connection = await connect();
    });
    afterAll(() => connection.close());

    test("has a time-to-live of the server's, and leaves nothing behind", async () => {
      const { store } = redisTokens({ ...connection, prefix: own });
      for (let each = 0; each < 50; each += 1)
        expect(await store.claim?.(`soon over ${each}`, 0.5)).toBe(true);
      expect(await store.claim?.("login", 60_000)).toBe(true);
      const [left, ...more] = await until(keysNow, (keys) => keys.length === 1);
      expect(more).toEqual([]);
      const lifeMs = await admin.client.pttl(left as string);
      expect(lifeMs > 0 && lifeMs <= 60_000).toBe(true);
      await admin.client.unlink(left as string);
    });

    test("of a long key takes no long key in Redis", async () => {
      const { store } = redisTokens({ ...connection, prefix: own });
      expect(await store.claim?.("x".repeat(1_000_000), 60_000)).toBe(true);
      const [key] = await keysNow();
      expect(key).toMatch(/claims:claim:[0-9a-f]{64}$/);
      await admin.client.unlink(key as string);
    });

    test("asked for again by a client that lost the answer is won still", async () => {
      const { store } = redisTokens({ client: repeating(connection.client), prefix: own });
      expect(await store.claim?.("asked twice", 60_000)).toBe(true);
      expect(await store.claim?.("asked twice", 60_000)).toBe(false);
      await admin.client.unlink(...(await keysNow()));
    });
  });
});

async function until<T>(ask: () => Promise<T>, isEnough: (answer: T) => boolean): Promise<T> {
  for (;;) {
    const answer = await ask();
    if (isEnough(answer)) return answer;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** The same kind of client, which sends each script twice, as after a cut connection. */
function repeating<T extends Connection["client"]>(client: T): T {
  return new Proxy(client, {
    get: (target, name) => {
      const value = Reflect.get(target, name) as unknown;
      if (name !== "eval" || typeof value !== "function") return value;
      return async (...args: unknown[]) => {
        await value.apply(target, args);
        return value.apply(target, args);
      };
    },
  });
}
