import { execFile, fork } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { startSandbox } from "@retail-pos/sandbox";
import { chromium } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { apiServer } from "../packages/fetch/testing/api-server.js";
import { newCertificate } from "./support/certificate.js";
import { CHROMIUM_FLAGS, findChromium } from "./support/chromium.js";
import { listen } from "./support/listen.js";
import { nodeAt } from "./support/packed/project.js";

// Each store on a host of its own, as in life, with the built-in fetch of every Node that we support: it gets
// connections of another undici than its own.

const VERSIONS = ["20.19.0", "^20", "^22", "^24", "^26"];
const program = fileURLToPath(new URL("support/stores-on-hosts.mjs", import.meta.url));
const endlessAnswers = fileURLToPath(new URL("support/endless-answers-on-nodes.mjs", import.meta.url));
const connections = fileURLToPath(new URL("support/connections-on-nodes.mjs", import.meta.url));
const heapOfHosts = new URL("../bench/scenarios/hosts/heap.mjs", import.meta.url);
const folder = mkdtempSync(join(tmpdir(), "retail-pos-hosts-"));
const files = { key: join(folder, "key.pem"), cert: join(folder, "cert.pem") };
const patience = 240_000; // a clean machine fetches each Node
const nodes = new Map<string, string>();

beforeAll(async () => {
  const { key, cert } = await newCertificate(await hostsOfStores());
  writeFileSync(files.key, key);
  writeFileSync(files.cert, cert);
  await Promise.all(VERSIONS.map(async (version) => nodes.set(version, await nodeAt(version))));
}, patience);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function hostsOfStores(): Promise<string[]> {
  const sandbox = await startSandbox();
  await sandbox.close();
  return ["localhost", ...sandbox.stores.slice(0, 3).map(({ domainPrefix }) => `${domainPrefix}.localhost`)];
}

describe.each(VERSIONS)("on Node %s", (version) => {
  test(
    "logins and calls reach their own stores, over few connections",
    async () => {
      const { stdout } = await promisify(execFile)(
        nodes.get(version) ?? "",
        [program, files.key, files.cert],
        { env: { ...process.env, NODE_EXTRA_CA_CERTS: files.cert } },
      );
      const told = JSON.parse(stdout);
      expect(told).toMatchObject({
        byLogins: 3,
        byCalls: 0, // nine calls, over the connections that the logins left
        byBurst: 7, // of two hundred calls to a store that has one already
        served: 200,
        stranger: "ERR_TLS_CERT_ALTNAME_INVALID",
      });
      expect(told.names).toEqual(told.stores.map((store: string) => `${store}.localhost`));
    },
    patience,
  );
});

test.each(VERSIONS)(
  "whatever a host does to a connection, Node %s serves the next call",
  async (version) => {
    const { stdout } = await promisify(execFile)(nodes.get(version) ?? "", [connections]);
    expect(JSON.parse(stdout)).toEqual({
      redirectWithoutEnd: "ok",
      notUnpacked: "TypeError",
      afterIt: "ok",
      aborted: "enough",
      whoWaited: "ok",
      closedBeforeItWasRead: 100_000,
      onAClosedConnection: "ok",
      newConnections: 1,
      nobody: "ECONNREFUSED",
    });
  },
  patience,
);

test.each(VERSIONS)(
  "an answer without end ends nothing but its own call, in bounded memory, on Node %s",
  async (version) => {
    const { stdout } = await promisify(execFile)(nodes.get(version) ?? "", ["--expose-gc", endlessAnswers]);
    const { ended, wide } = JSON.parse(stdout);
    expect(Object.keys(ended)).toHaveLength(10);
    for (const [way, told] of Object.entries(ended))
      expect(told, way).toEqual(["answer_too_large", "answer_too_large", "ok", "bounded"]);
    expect(wide).toEqual([4096, "bounded"]);
  },
  patience,
);

describe.each(["^20", "^22", "^24"])("the heap of Node %s", (version) => {
  test(
    "holds less than 2 kB of each host that was called once, after keepAliveMs, though the host keeps its end",
    async () => {
      const api = await apiServer((_, response) => response.end("{}"));
      const child = fork(heapOfHosts, {
        execPath: nodes.get(version) ?? "",
        execArgv: ["--expose-gc"],
        serialization: "advanced",
      });
      const { port } = new URL(api.origin);
      child.send({ input: { caller: "retailFetchBriefly", port, hosts: 2500, idleMs: 1500 } });
      const { result } = await new Promise<{ result: { bytes: number } }>((resolve, reject) => {
        child.once("message", (message) => resolve(message as { result: { bytes: number } }));
        child.once("exit", (code) => reject(new Error(`It ended with ${code}`)));
      });
      expect(result.bytes).toBeLessThan(2000);
      expect(api.connections).toBeGreaterThanOrEqual(2500); // they were hosts of their own
      await api.close();
    },
    patience,
  );
});

test.skipIf(!findChromium())(
  "a browser finds a store's host by itself, and takes no cookie of the application there",
  async () => {
    const browser = await chromium.launch({ executablePath: findChromium() ?? "", args: CHROMIUM_FLAGS });
    const sandbox = await startSandbox({ hostPerStore: true });
    const cookies: (string | undefined)[] = [];
    const app = await listen((request, response) => {
      cookies.push(request.headers.cookie);
      response.setHeader("set-cookie", "session=of-the-application; Path=/; HttpOnly").end("logged in");
    });
    const page = await browser.newPage();
    await page.goto(app.origin);
    const answer = await page.goto(
      `${sandbox.baseUrl.replace("{domain_prefix}", "harbour-coffee")}/api/retailer`,
    );
    expect(answer?.status()).toBe(401); // the store answered: it wants a bearer
    expect((await answer?.request().allHeaders())?.["cookie"]).toBeUndefined();
    await page.goto(app.origin);
    expect(cookies.filter((cookie) => cookie !== undefined)).toContain("session=of-the-application");
    await browser.close();
    await Promise.all([app.close(), sandbox.close()]);
  },
  patience,
);
