import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";

const core = new URL("../../../dist/index.js", import.meta.url).href;

test("a script that uses the library ends by itself", () => {
  expect(
    run(`
      const server = createServer((request, response) => {
        const status = answers.shift() ?? 200;
        response.writeHead(status, { "x-ratelimit-reset": String(Math.ceil(Date.now() / 1000) + 3000) });
        const count = ++issued;
        response.end(JSON.stringify({ access_token: "a" + count, refresh_token: "r" + count, expires_in: 3600 }));
      });
      const answers = [];
      let issued = 0;
      await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
      let now = Date.now();
      const pos = retailPos({
        ...options,
        baseUrl: "http://127.0.0.1:" + server.address().port + "/{domain_prefix}",
        timeoutMs: 2 ** 31 - 1,
        clock: () => now,
      });
      await pos.connect(await pos.exchange("shop", "code"));
      const shop = pos.tokens("shop");
      now += 3_500_000;
      await shop.token();                                    // renews in the background
      while (issued < 2) await new Promise((resolve) => setTimeout(resolve, 10));
      await new Promise((resolve) => setTimeout(resolve, 50));
      now += 3_600_000;
      await shop.token();                                    // waits for a renewal
      answers.push(500, 429);
      now += 3_600_000;
      await shop.token().catch(() => {});                    // held back after a failure
      now += 3_600_000;
      await shop.token().catch(() => {});                    // held back after a 429
      await shop.token({ signal: AbortSignal.timeout(60_000) }).catch(() => {});
      server.close();
      console.log("done", issued);
    `),
  ).toEqual({ status: 0, signal: null, stdout: "done 5\n", stderr: "" });
});

test("an endpoint that never answers keeps no script alive once nobody waits", () => {
  expect(
    run(`
      let now = Date.now();
      const pos = retailPos({
        ...options,
        baseUrl: "https://{domain_prefix}.example.com",
        timeoutMs: 2 ** 31 - 1,
        clock: () => now,
        fetch: () => new Promise(() => {}),
      });
      const access = { value: "a", expiresAt: now + 3_600_000 };
      await pos.connect({ domainPrefix: "shop", access, refreshToken: "r", issuedAt: now, version: "v" });
      now += 3_500_000;
      console.log((await pos.tokens("shop").token()).value);
    `),
  ).toEqual({ status: 0, signal: null, stdout: "a\n", stderr: "" });
});

test("a store that takes writes again within half a minute gets every rotated token before the script ends", () => {
  expect(
    run(`${storeThatFails}
      // Twenty times as fast.
      const { setTimeout, performance } = globalThis;
      const monotonic = performance.now.bind(performance);
      globalThis.setTimeout = (work, ms, ...rest) => setTimeout(work, ms / 20, ...rest);
      performance.now = () => monotonic() * 20;

      const pos = retailPos(away);
      const names = Array.from({ length: 12 }, (_, index) => "shop" + index);
      await connectAndLeave(pos, names);
      await Promise.all(names.map((name) => pos.tokens(name).token()));
      process.once("beforeExit", () => {
        console.log("about to end");
        globalThis.setTimeout(() => { isAway = false; }, 25_000).unref();
      });
    `),
  ).toEqual({ status: 0, signal: null, stdout: "about to end\nsaved 24\n", stderr: "" });
});

test("a refusal that the store does not note keeps no script alive", () => {
  expect(
    run(`${storeThatFails}
      const pos = retailPos({
        ...away,
        fetch: async () => Response.json({ error: "invalid_grant" }, { status: 400 }),
      });
      await connectAndLeave(pos, ["shop"]);
      await pos.tokens("shop").token().catch(({ code }) => console.log(code));
    `),
  ).toEqual({ status: 0, signal: null, stdout: "reconnect_required\nsaved 1\n", stderr: "" });
});

/** Options with a store that takes no writes any more once a retailer is connected, whose token ends then. */
const storeThatFails = `
  let now = Date.now();
  let isAway = false;
  let saved = 0;
  const memory = memoryStore();
  const away = {
    ...options,
    baseUrl: "https://{domain_prefix}.example.com",
    clock: () => now,
    fetch: async () => Response.json({ access_token: "a2", refresh_token: "r2", expires_in: 3600 }),
    store: {
      ...memory,
      async save(...sets) {
        if (isAway) throw new Error("READONLY");
        saved += 1;
        return memory.save(...sets);
      },
    },
  };
  async function connectAndLeave(pos, names) {
    const access = { value: "a", expiresAt: now + 3_600_000 };
    for (const domainPrefix of names)
      await pos.connect({ domainPrefix, access, refreshToken: "r", issuedAt: now, version: "v" });
    isAway = true;
    now += 3_600_001;
  }
  process.once("exit", () => console.log("saved", saved));
`;

/** Runs a program on the built package, and kills it where it does not end. */
function run(program: string) {
  const head = `
    import { createServer } from "node:http";
    import { memoryStore, retailPos } from ${JSON.stringify(core)};
    const options = {
      authUrl: "https://login.example.com",
      clientId: "id",
      clientSecret: "secret",
      redirectUri: "https://app.example.net/callback",
    };
  `;
  const { status, signal, stdout, stderr } = spawnSync(
    process.execPath,
    ["--input-type=module", "--eval", head + program],
    { encoding: "utf8", timeout: 50_000 },
  );
  return { status, signal, stdout, stderr };
}
