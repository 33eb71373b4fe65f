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

/** Runs a program on the built package, and kills it where it does not end. */
function run(program: string) {
  const head = `
    import { createServer } from "node:http";
    import { retailPos } from ${JSON.stringify(core)};
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
    { encoding: "utf8", timeout: 10_000 },
  );
  return { status, signal, stdout, stderr };
}
