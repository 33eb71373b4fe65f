import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { newCertificate } from "../../../test/support/certificate.js";

// A redirect brings a call to a host that it has no place in: more may come than that host has connections.

const built = new URL("../dist/index.js", import.meta.url).href;
const folder = mkdtempSync(join(tmpdir(), "retail-pos-redirects-"));
const files = { key: join(folder, "key.pem"), cert: join(folder, "cert.pem") };

beforeAll(async () => {
  const { key, cert } = await newCertificate(["elsewhere.localhost"]); // and for 127.0.0.1
  writeFileSync(files.key, key);
  writeFileSync(files.cert, cert);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Four stores that redirect to one host, which `central` serves. */
async function run(program: string): Promise<unknown> {
  const head = `
    import { readFileSync } from "node:fs";
    import { createServer } from "node:http";
    import { createServer as createTlsServer } from "node:https";
    import { connect, createServer as createTcpServer } from "node:net";
    import { retailFetch } from ${JSON.stringify(built)};
    const fetch = retailFetch({ perHost: 1 });
    const portOf = (server) => new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve(server.address().port)));
    const central = createTlsServer({ key: readFileSync(process.argv[1]), cert: readFileSync(process.argv[2]) });
    central.on("request", (_, answer) => answer.end("ok"));
    central.on("tlsClientError", () => {});
    const counts = { open: 0 };
    central.on("secureConnection", (socket) => {
      counts.open += 1;
      socket.once("close", () => (counts.open -= 1));
    });
    const outcome = (call) => call.then((answer) => answer.text(), (error) => error.cause?.code ?? error.name);
    const stores = (goal) => Promise.all([1, 2, 3, 4].map(async () => {
      const store = createServer((_, answer) => answer.writeHead(302, { location: goal }).end());
      return "http://127.0.0.1:" + (await portOf(store));
    }));
  `;
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ["--input-type=module", "--eval", `${head}${program}`, files.key, files.cert],
    { env: { ...process.env, NODE_EXTRA_CA_CERTS: files.cert }, timeout: 50_000 },
  );
  return JSON.parse(stdout);
}

describe("calls of four stores that are redirected to one host", () => {
  test("all fail if its certificate is another's, and neither the stores nor close() are held up", async () => {
    const told = await run(`
      const port = await portOf(central);
      const origins = await stores("https://localhost:" + port);
      const first = await Promise.all(origins.map((origin) => outcome(fetch(origin))));
      const later = await outcome(fetch(origins[3], { signal: AbortSignal.timeout(10_000) }));
      await fetch.close();
      console.log(JSON.stringify({ first, later }));
      process.exit();
    `);
    const code = "ERR_TLS_CERT_ALTNAME_INVALID";
    expect(told).toEqual({ first: Array(4).fill(code), later: code });
  });

  test("are served if only the first attempt to connect fails, and close() closes all connections", async () => {
    const told = await run(`
      let attempts = 0;
      const inner = await portOf(central);
      const gate = createTcpServer((socket) => {
        socket.on("error", () => {});
        if (++attempts === 1) return setTimeout(() => socket.destroy(), 100);
        const to = connect(inner, "127.0.0.1").on("error", () => {});
        socket.pipe(to).pipe(socket);
        socket.once("close", () => to.destroy());
      });
      const origins = await stores("https://127.0.0.1:" + (await portOf(gate)));
      const first = await Promise.all(origins.map((origin) => outcome(fetch(origin))));
      await fetch.close();
      while (counts.open > 0) await new Promise((resolve) => setTimeout(resolve, 10));
      console.log(JSON.stringify({ first: first.sort() }));
      process.exit();
    `);
    expect(told).toEqual({ first: ["ECONNRESET", "ok", "ok", "ok"] });
  });
});
