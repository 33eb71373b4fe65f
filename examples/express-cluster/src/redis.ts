import { redisTokens } from "@retail-pos/store-redis";
import { RedisStore } from "connect-redis";
import type { SessionData } from "express-session";
import { createClient } from "redis";
import type { Engine } from "./engine.js";

/** So long a token request and its save may take. */
const LONGEST_SAVE_MS = 30_000;

const HOUR_S = 60 * 60;

/** In seconds. Anybody can begin a login, and each is a session beside the tokens. */
function lifetimeOf(session: SessionData & { passport?: { user?: unknown } }): number {
  return session.passport?.user === undefined ? HOUR_S : 24 * HOUR_S;
}

export const redis: Engine = {
  async prepare({ engineUrl }) {
    const client = createClient({ url: engineUrl, socket: { reconnectStrategy: false } });
    client.on("error", () => {}); // connect() rejects with it
    await client.connect().catch((cause: NodeJS.ErrnoException) => {
      throw new Error(`Redis could not be reached: ${cause.message || cause.code}`, { cause });
    });
    await client.close();
  },

  async open({ engineUrl, namespace }) {
    // Without the queue: while Redis is away requests fail at once, instead of waiting for it.
    const client = createClient({ url: engineUrl, disableOfflineQueue: true });
    client.on("error", (error: Error) => console.error(`Redis: ${error.message}`));
    await client.connect();
    return {
      tokens: redisTokens({ client, prefix: `${namespace}:` }),
      sessions: new RedisStore({ client, prefix: `${namespace}:session:`, ttl: lifetimeOf }),
      // Not close(): a renewal may be under way, and its token has to be saved. The connection ends with the process.
      close() {
        client.unref();
        setTimeout(() => client.destroy(), LONGEST_SAVE_MS).unref(); // while Redis is away it would go on connecting
      },
    };
  },
};
