import { type IncomingHttpHeaders, request } from "node:http";
import { request as tlsRequest } from "node:https";
import { connect } from "node:net";
import { inspect } from "node:util";
import { describe, expect, onTestFinished, test } from "vitest";
import { newCertificate } from "../../../test/support/certificate.js";
import { type Sandbox, type SandboxOptions, startSandbox } from "./index.js";

// Not every machine resolves *.localhost, and where it is, is known: on 127.0.0.1.

interface Asked {
  method?: string;
  body?: string;
  bearer?: string;
  /** The certificate to trust. */
  ca?: string;
  /** Default: that of the address. */
  host?: string;
}

interface Answer {
  readonly status: number | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

async function start(options: SandboxOptions = {}): Promise<Sandbox> {
  const sandbox = await startSandbox({ hostPerStore: true, ...options });
  onTestFinished(() => sandbox.close());
  return sandbox;
}

const baseUrl = (sandbox: Sandbox, store: string) => sandbox.baseUrl.replace("{domain_prefix}", store);

function ask(address: string, init: Asked = {}): Promise<Answer> {
  const { protocol, hostname, port, host, pathname, search } = new URL(address);
  const send = protocol === "https:" ? tlsRequest : request;
  const headers = {
    host: init.host ?? host,
    ...(init.bearer !== undefined && { authorization: `Bearer ${init.bearer}` }),
    ...(init.body !== undefined && { "content-type": "application/x-www-form-urlencoded" }),
  };
  const where = {
    host: "127.0.0.1",
    port,
    servername: hostname,
    path: pathname + search,
    agent: false as const,
  };
  return new Promise((resolve, reject) => {
    const sent = send({ ...where, method: init.method ?? "GET", headers, ca: init.ca }, (response) => {
      let text = "";
      response.on("data", (part) => {
        text += part;
      });
      response.on("end", () => resolve({ status: response.statusCode, headers: response.headers, text }));
    });
    sent.on("error", reject).end(init.body);
  });
}

test("the first label of the host is the store", async () => {
  const sandbox = await start();
  expect(sandbox.baseUrl).toMatch(/^http:\/\/\{domain_prefix\}\.localhost:\d+$/);
  const bearer = sandbox.createPersonalToken("harbour-coffee");
  const { status, text } = await ask(`${baseUrl(sandbox, "harbour-coffee")}/api/retailer`, { bearer });
  expect(status).toBe(200);
  expect(JSON.parse(text).data.domain_prefix).toBe("harbour-coffee");
  expect(sandbox.requests).toEqual([
    expect.objectContaining({
      endpoint: "api",
      domainPrefix: "harbour-coffee",
      path: "/api/retailer",
      status: 200,
    }),
  ]);
});

test("a code is traded at its store's host, and at no other", async () => {
  const sandbox = await start();
  const { clientId, clientSecret, redirectUri } = sandbox.application;
  const code = sandbox.approve("harbour-coffee").searchParams.get("code") ?? "";
  const form = { grant_type: "authorization_code", code, redirect_uri: redirectUri };
  const body = new URLSearchParams({ ...form, client_id: clientId, client_secret: clientSecret }).toString();
  const trade = (store: string) => ask(`${baseUrl(sandbox, store)}/api/1.0/token`, { method: "POST", body });
  expect((await trade("second-chapter")).status).toBe(400);
  expect((await trade("harbour-coffee")).status).toBe(200);
});

test("a store's bearer opens nothing at another store's host", async () => {
  const sandbox = await start();
  const bearer = sandbox.createPersonalToken("harbour-coffee");
  expect((await ask(`${baseUrl(sandbox, "second-chapter")}/api/products`, { bearer })).status).toBe(401);
});

describe("what lives nowhere else", () => {
  test.each(["nobody", "harbour-coffee.nobody", "%2e"])("no store is at %s.localhost", async (label) => {
    const sandbox = await start();
    const { port } = new URL(sandbox.url);
    const { status } = await ask(`http://127.0.0.1:${port}/api/products`, {
      host: `${label}.localhost:${port}`,
    });
    expect([404, 421]).toContain(status);
  });

  test("the console and the consent page are not at a store's host, and no store is below 127.0.0.1", async () => {
    const sandbox = await start();
    for (const path of ["/", "/connect", "/console/requests", "/stores/harbour-coffee/api/products"]) {
      expect((await ask(baseUrl(sandbox, "harbour-coffee") + path)).status, path).toBe(404);
    }
    expect((await ask(`${sandbox.url}/`)).status).toBe(200);
    expect((await ask(`${sandbox.url}/stores/harbour-coffee/api/products`)).status).toBe(404);
  });

  test("without the option there are no such hosts", async () => {
    const sandbox = await start({ hostPerStore: false });
    const { port } = new URL(sandbox.url);
    expect((await ask(`http://harbour-coffee.localhost:${port}/api/products`)).status).toBe(421);
  });
});

test("with tls every address is https, and the client says which store it wants before it sends anything", async () => {
  const { key, cert } = await newCertificate(["localhost", "harbour-coffee.localhost"]);
  const asked: string[] = [];
  const SNICallback = (name: string, done: (error: Error | null) => void) => {
    asked.push(name);
    done(null);
  };
  const sandbox = await start({ tls: { key, cert, SNICallback } });
  for (const address of [sandbox.url, sandbox.authUrl, sandbox.baseUrl]) expect(address).toMatch(/^https:/);
  const bearer = sandbox.createPersonalToken("harbour-coffee");
  const init = { bearer, ca: cert };
  expect((await ask(`${baseUrl(sandbox, "harbour-coffee")}/api/products`, init)).status).toBe(200);
  expect(asked).toEqual(["harbour-coffee.localhost"]);
  await expect(ask(`${baseUrl(sandbox, "second-chapter")}/api/products`, init)).rejects.toMatchObject({
    code: "ERR_TLS_CERT_ALTNAME_INVALID", // nothing is sent to who is somebody else
  });
  expect(sandbox.requests).toHaveLength(1);
  expect(inspect(sandbox, { depth: 9 })).not.toContain("PRIVATE KEY");
});

test.each(["http", "https"])(
  "close() ends connections of %s on which nothing was asked yet",
  async (protocol) => {
    const sandbox = await start(protocol === "https" ? { tls: await newCertificate(["localhost"]) } : {});
    const socket = connect(Number(new URL(sandbox.url).port), "127.0.0.1");
    socket.resume().on("error", () => {}); // a reset is an end too
    const ended = new Promise((resolve) => socket.once("close", resolve));
    await expect.poll(() => sandbox.connectionsOpened).toBe(1);
    await sandbox.close();
    await ended;
  },
);

test("connections are counted, and kept between two requests", async () => {
  const sandbox = await start();
  expect(sandbox.connectionsOpened).toBe(0);
  await (await fetch(sandbox.url)).text();
  await new Promise(setImmediate); // until fetch has its connection back
  await (await fetch(sandbox.url)).text();
  const kept = sandbox.connectionsOpened;
  await ask(sandbox.url);
  expect([kept, sandbox.connectionsOpened]).toEqual([1, 2]);
});
