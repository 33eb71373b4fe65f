// Asks a store whose client keeps no process alive, and nothing else does: says what came of it, and ends by itself.
import { Redis } from "ioredis";
import { createClient } from "redis";
import { redisTokens } from "../dist/index.js";

const [url, prefix, kind] = process.argv.slice(2);
const client = kind === "ioredis" ? new Redis(url) : await createClient({ url }).connect();
if (kind === "ioredis") client.on("connect", () => client.stream.unref());
else client.unref();
const { store, lock } = redisTokens({ client, prefix });
console.log(await lock("id/harbour-coffee", async () => `none yet: ${await store.load("harbour-coffee")}`));
