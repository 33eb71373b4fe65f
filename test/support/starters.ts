import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { afterAll, onTestFinished } from "vitest";
import { url as databaseUrl, canRun as hasPostgres } from "../../packages/store-postgres/testing/postgres.js";
import { canRun as hasRedis, url as redisUrl } from "../../packages/store-redis/testing/redis.js";
import { type RunningCommand, startCommand, type Until } from "./command.js";
import { sqliteFile } from "./engines.mjs";
import { forget } from "./processes.js";
import { root } from "./sources.js";

/** An example that somebody copies to start from. */
export interface Starter {
  readonly name: string;
  /** Where it shows what it read of a store. */
  readonly page: string;
  /** Of its own, beside the service's settings. */
  readonly env: Readonly<Record<string, string>>;
  /** Where it can be shown in a browser. */
  readonly hasPages: boolean;
  /** Where a POST logs somebody out, and where one disconnects their store. */
  readonly logOut: string;
  readonly disconnect: string;
  /** Whether people have accounts of its own: they sign up first, and then connect a store. */
  readonly hasAccounts: boolean;
}

const withStore = { env: {}, logOut: "/logout", disconnect: "/disconnect", hasAccounts: false };

/** Without the address of an engine that is for other tests: an example that could use it takes its file. */
const onFile = { DATABASE_URL: "", REDIS_URL: "" };
const expressLogin = { ...withStore, name: "express-login", page: "/products", hasPages: true, env: onFile };

export const starters: readonly Starter[] = [
  expressLogin,
  ...(hasRedis ? [{ ...expressLogin, env: { ...onFile, WORKERS: "2", REDIS_URL: redisUrl } }] : []),
  ...(!hasRedis && hasPostgres
    ? [{ ...expressLogin, env: { ...onFile, WORKERS: "2", DATABASE_URL: databaseUrl } }]
    : []),
  { ...withStore, name: "koa-service", page: "/stock", hasPages: false },
  {
    name: "many-stores",
    page: "/stores/harbour-coffee",
    env: onFile,
    hasPages: true,
    logOut: "/log-out",
    disconnect: "/stores/harbour-coffee/disconnect",
    hasAccounts: true,
  },
];

/** The engine on which a starter keeps things, by its settings. */
export function engineOf({ DATABASE_URL, REDIS_URL }: Readonly<Record<string, string>>): string {
  return (DATABASE_URL && "postgres") || (REDIS_URL && "redis") || "sqlite";
}

export interface Running extends RunningCommand {
  readonly port: number;
}

/**
 * Starts a starter as it is deployed, by `node` and on its own compiled files.
 *
 * @param until is given what ends it; by default that is done when the test is over.
 */
export async function startStarter(
  { name, env }: Starter,
  settings: Record<string, string>,
  until: Until = onTestFinished,
): Promise<Running> {
  const own = `starter_${randomUUID().slice(0, 8)}`;
  const command = startCommand(join(root, `examples/${name}/dist/server.js`), [], {
    env: { PORT: "0", NAMESPACE: own, DATABASE_FILE: sqliteFile(own), ...env, ...settings },
    until,
  });
  until(async () => {
    command.child.kill("SIGKILL");
    await command.ended;
    await forget(engineOf(env), own);
  });
  const said = await Promise.race([
    command.printed(/(?:Open http:\/\/localhost:|Listening on port )\d+/),
    command.ended.then(() => Promise.reject(new Error(command.output()))),
  ]);
  return { ...command, port: Number(/\d+$/.exec(said)?.[0]) };
}

/** What is begun once for each starter, with the first test that asks for it, and ended after all tests of the file. */
export function onceForEach<T>(begin: (starter: Starter, until: Until) => Promise<T>) {
  const begun = new Map<Starter, Promise<T>>();
  const ends: Parameters<Until>[0][] = [];
  afterAll(async () => {
    for (const end of ends.reverse()) await end();
  });
  return (starter: Starter): Promise<T> => {
    const there = begun.get(starter) ?? begin(starter, (end) => ends.push(end));
    begun.set(starter, there);
    return there;
  };
}
