import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { parseDomainPrefix, type TokenSet } from "@retail-pos/core";
import { retailFetch } from "@retail-pos/fetch";
import { type SandboxOptions, virtualClock } from "@retail-pos/sandbox";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { runSql, type Site, startSite } from "../testing/site.js";
import { openParts, type Parts } from "./parts.js";
import { pullAll } from "./pull-all.js";
import { settingsFrom } from "./settings.js";

const program = fileURLToPath(new URL("../dist/nightly.js", import.meta.url));
const [healthy, refused, limited, failing] = [
  "harbour-coffee",
  "rosas-bikes",
  "second-chapter",
  "plant-room",
] as const;
let site: Site;

beforeEach(() => {
  vi.spyOn(console, "warn").mockImplementation(() => {});
});
afterEach(async () => {
  vi.restoreAllMocks();
  await site.close();
});

const start = async (options?: SandboxOptions) => {
  site = await startSite(options, { fetch: retailFetch({ wait429Ms: 5000 }) });
};

const run = (more: Partial<Parts> = {}) => pullAll({ ...site, ...more }, 2, new AbortController().signal);

test("pulls the healthy, and notes the refused, the limited and the failing", async () => {
  await start();
  const ada = await site.person("ada@example.com", healthy, refused, limited, failing);
  site.sandbox.refuse(refused);
  for (const store of [refused, limited]) site.sandbox.expire(store);
  site.sandbox.limit(limited, 60_000); // its token endpoint
  site.sandbox.fault(503, { endpoint: "api", domainPrefix: failing, times: Number.POSITIVE_INFINITY });

  expect(await run()).toMatchObject({ stores: 4, pulled: 1, refused: 1, failed: 2, isStopped: false });
  expect(site.records.productsOf(healthy)).toContainEqual({
    name: "House espresso, 250 g",
    sku: "HAR-001",
    price: "9.50",
    currency: "EUR",
    inStock: 64,
  });
  expect(site.records.productsOf(failing)).toEqual([]);

  const { body } = await ada.open("/stores");
  expect(body.match(/Connect again</g)).toHaveLength(1);
  expect(body.match(/Could not be counted last night/g)).toHaveLength(2);
  site.sandbox.clearFaults(failing);
  await run();
  expect(site.records.productsOf(failing)).not.toEqual([]);
  expect((await ada.open("/stores")).body).toContain("Could not be counted for 2 nights");
});

test("a store with more products than a page is pulled whole", async () => {
  await start();
  await site.person("ada@example.com", healthy);
  const answers = (await site.client.retailer(healthy).fetch("api/products")).json() as Promise<{
    data: unknown[];
  }>;
  const [product] = (await answers).data;
  const pages = [Array(100).fill(product), Array(100).fill(product), Array(7).fill(product)];
  const asked: string[] = [];
  const client = {
    ...site.client,
    retailer: (store: string) => ({
      ...site.client.retailer(store),
      fetch: async (path: string | URL | Request) => {
        asked.push(String(path));
        const page = Number(/page=(\d+)/.exec(String(path))?.[1]);
        return Response.json({ data: pages[page - 1] ?? {} });
      },
    }),
  };
  expect(await run({ client })).toMatchObject({ pulled: 1, products: 207 });
  expect(asked.filter((path) => path.startsWith("api/products"))).toHaveLength(3);
});

test("the API's own 429 is waited for", async () => {
  await start({ apiRateLimit: { limit: 1, windowMs: 1500 } });
  await site.person("ada@example.com", healthy); // its name took the one call
  expect(await run()).toMatchObject({ pulled: 1, failed: 0 });
});

test("what was pulled last night stays until there is something newer", async () => {
  await start();
  await site.person("ada@example.com", healthy);
  await run();
  const kept = site.records.productsOf(healthy);
  site.sandbox.fault("html", { endpoint: "api", times: Number.POSITIVE_INFINITY });
  expect(await run()).toMatchObject({ pulled: 0, failed: 1 });
  expect(site.records.productsOf(healthy)).toEqual(kept);
});

test("a token that ends soon is renewed once, before its store is read", async () => {
  const clock = virtualClock();
  site = await startSite({ clock, lifetimeMs: 3_600_000 }, { clock, cacheMs: 0 });
  await site.person("ada@example.com", healthy);
  clock.advance(2_400_000);
  await run();
  expect(site.sandbox.tokenRequests(healthy).map(({ grantType }) => grantType)).toEqual([
    "authorization_code",
    "refresh_token",
  ]);
});

test("tokens that nobody has are forgotten", async () => {
  await start();
  const code = site.sandbox.approve(healthy).searchParams.get("code") ?? "";
  await site.client.connect(await site.client.exchange(healthy, code));
  expect(await run()).toMatchObject({ stores: 0, swept: 1 });
  expect(await site.client.status(healthy)).toBeUndefined();
});

test("a wrong client secret stops the run: every store would fail, and no person can mend it", async () => {
  await start();
  await site.person("ada@example.com", healthy, refused);
  for (const store of [healthy, refused]) site.sandbox.expire(store);
  const env = { RETAIL_POS_CLIENT_SECRET: "not that one" };
  const { code, output } = await startProgram(env).ended;
  expect({ code, output }).toEqual({ code: 1, output: expect.stringContaining("The run could not go on") });
  expect(output).not.toContain("not that one");
  expect(site.records.storesOf(site.records.personByEmail("ada@example.com")?.id ?? "")).toMatchObject([
    { failures: 0 },
    { failures: 0 },
  ]);
});

test("tokens that cannot be read stop no other store, and the exit code says so: the key may be wrong", async () => {
  await start();
  await site.person("ada@example.com", healthy, refused);
  runSql(site, `UPDATE retail_pos_tokens SET access_token = '' WHERE domain_prefix = '${refused}'`);
  const { code, output } = await startProgram().ended;
  expect({ code, output }).toEqual({
    code: 1,
    output: expect.stringContaining('"refused":0,"unreadable":1,"failed":0'),
  });
  expect(output).toContain('"stores":2,"pulled":1');
});

test("tokens are sealed with the key of the settings, and open with it alone", async () => {
  await start();
  const keyOf = (byte: number) => `2026-01:${Buffer.alloc(32, byte).toString("base64")}`;
  await site.person("ada@example.com", healthy);
  const plain = (await site.tokens.store.load(parseDomainPrefix(healthy))) as TokenSet;
  const sealed = openParts(settingsFrom({ ...site.env, TOKEN_KEYS: keyOf(1) }));
  await sealed.tokens.store.save(plain);
  sealed.close();
  const kept = await site.tokens.store.load(parseDomainPrefix(healthy));
  expect(JSON.stringify(kept)).not.toContain(plain.access.value);

  expect(await startProgram({ TOKEN_KEYS: keyOf(1) }).ended).toMatchObject({ code: 0 });
  const { code, output } = await startProgram({ TOKEN_KEYS: keyOf(2) }).ended;
  expect({ code, output }).toEqual({ code: 1, output: expect.stringContaining("has another secret now") });
});

describe("the program", () => {
  test("pulls all stores, says what it did, and ends", async () => {
    await start();
    await site.person("ada@example.com", healthy, refused);
    const { code, output } = await startProgram().ended;
    expect(code).toBe(0);
    expect(output).toContain('Nightly run: {"stores":2,"pulled":2');
    expect(site.records.productsOf(healthy)).not.toEqual([]);
  });

  test("ends at once on SIGTERM, though the API does not answer, and says that it was stopped", async () => {
    await start();
    await site.person("ada@example.com", healthy, refused);
    const silence = site.sandbox.fault("silence", { endpoint: "api", times: Number.POSITIVE_INFINITY });
    const { child, ended } = startProgram({ STORES_AT_ONCE: "1" });
    await silence.struck;
    child.kill("SIGTERM");
    const { code, output } = await ended;
    expect({ code, output }).toEqual({ code: 0, output: expect.stringContaining('"isStopped":true') });
    expect(silence.hits).toBe(1); // and no request more
    const [person] = site.records.storesOf(site.records.personByEmail("ada@example.com")?.id ?? "");
    expect(person).toMatchObject({ failures: 0 });
  });

  test("ends with exit code 1 if its database cannot be used", async () => {
    await start();
    await site.person("ada@example.com", healthy);
    runSql(
      site,
      "ALTER TABLE retail_pos_tokens RENAME TO elsewhere; CREATE TABLE retail_pos_tokens (other TEXT)",
    );
    const { code } = await startProgram().ended;
    expect(code).toBe(1);
  });
});

/** As a timer of the machine starts it. */
function startProgram(more: NodeJS.ProcessEnv = {}) {
  const child: ChildProcess = spawn(process.execPath, [program], {
    env: { ...site.env, ...more },
    stdio: ["ignore", "pipe", "pipe"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding("utf8").on("data", (text) => {
      output += text;
    });
  }
  const ended = once(child, "close").then(([code]) => ({ code, output }));
  return { child, ended };
}
