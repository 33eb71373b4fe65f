import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { minVersion } from "semver";

const root = fileURLToPath(new URL("../../..", import.meta.url));

/** What the program needs beside our packages: the newest versions, as this repository has them. */
export const newest: Record<string, string> = pick(manifestOf(".").devDependencies, [
  ...["express", "express-session", "fastify", "hono", "koa", "koa-passport", "koa-session", "passport"],
  ...["ioredis", "libsql", "pg", "redis", "typescript"],
  ...["@types/express", "@types/express-session", "@types/koa", "@types/koa-passport", "@types/koa-session"],
  ...["@types/node", "@types/passport", "@types/pg", "connect-pg-simple", "@types/connect-pg-simple"],
]);

/** The lower end of what our framework packages allow, and the oldest TypeScript with `require()` of ES modules. */
export const oldest: Record<string, string> = {
  ...newest,
  ...lowestPeersOf("express-bearer", "koa-bearer", "fastify-bearer", "hono-bearer", "passport-retail-pos"),
  typescript: "~5.8.0",
};

interface Manifest {
  devDependencies: Record<string, string>;
  peerDependencies: Record<string, string>;
}

function manifestOf(path: string): Manifest {
  return JSON.parse(readFileSync(`${root}/${path}/package.json`, "utf8"));
}

function pick(versions: Record<string, string>, names: string[]): Record<string, string> {
  return Object.fromEntries(names.map((name) => [name, versions[name] ?? ""]));
}

function lowestPeersOf(...packages: string[]): Record<string, string> {
  const peers = packages.flatMap((name) => Object.entries(manifestOf(`packages/${name}`).peerDependencies));
  return Object.fromEntries(peers.map(([name, range]) => [name, String(minVersion(range))]));
}
