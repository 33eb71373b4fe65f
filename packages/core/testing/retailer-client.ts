// What the tests of a retailer's client share: an API with its token endpoint on this machine, and what it saw.

import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import nock from "nock";
import { afterEach, expect } from "vitest";
import { type RetailerClient, retailerClients } from "../src/client/retailer-client.js";
import { retailPos } from "../src/retail-pos.js";
import type { RetailPosOptions } from "../src/settings/options.js";
import { type DomainPrefix, parseDomainPrefix } from "../src/vocabulary/domain-prefix.js";
import type { TokenSet } from "../src/vocabulary/token-set.js";
import type { TokenSource } from "../src/vocabulary/token-source.js";

export const T0 = Date.UTC(2030, 0, 1);
export const DAY_MS = 86_400_000;

nock.restore(); // importing nock switches it on
const closing: Array<() => void> = [];

afterEach(() => {
  nock.cleanAll();
  nock.enableNetConnect();
  nock.restore();
  for (const close of closing.splice(0)) close();
});

interface Seen {
  method: string | undefined;
  url: string | undefined;
  headers: IncomingMessage["headers"];
  raw: Buffer;
  body: string;
}

type Listener = (request: IncomingMessage, response: ServerResponse) => unknown;

export async function served(listener: Listener, { reads = true } = {}) {
  const seen: Seen[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    if (reads) for await (const chunk of request) chunks.push(chunk);
    const raw = Buffer.concat(chunks);
    const { method, url, headers } = request;
    if (!url?.endsWith("/api/1.0/token")) seen.push({ method, url, headers, raw, body: raw.toString() });
    listener(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  closing.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return { seen, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

/** A retailer on a real server: its API knows one access token, its token endpoint issues `access-2`, `access-3`, … */
export async function shop({
  accepts = "access-1",
  refuses = false,
  reads = true,
  api,
  options = {},
}: {
  accepts?: string;
  refuses?: boolean;
  reads?: boolean;
  api?: Listener;
  options?: Partial<RetailPosOptions>;
} = {}) {
  let renewals = 0;
  const tokens: Listener = (_, response) => {
    renewals += 1;
    response
      .writeHead(refuses ? 400 : 200)
      .end(JSON.stringify(refuses ? { error: "invalid_grant" } : { access_token: `access-${renewals + 1}` }));
  };
  const regular: Listener = ({ headers }, response) => {
    const accepted = headers.authorization === `Bearer ${accepts}`;
    response.writeHead(accepted ? 200 : 401).end(accepted ? "ok" : "no");
  };
  const service = await served(
    (request, response) =>
      (request.url?.endsWith("/api/1.0/token") ? tokens : (api ?? regular))(request, response),
    { reads },
  );
  const { client, pos } = await connected({ baseUrl: `${service.url}/{domain_prefix}`, ...options });
  return { client, pos, seen: service.seen, renewals: () => renewals };
}

/** The same retailer, as if it had the server to itself. */
export async function alone(options: Parameters<typeof shop>[0]) {
  const { pos, ...rest } = await shop(options);
  const { domainPrefix, baseUrl } = rest.client;
  const source = pos.tokens("shop");
  const fetch = globalThis.fetch;
  const client = retailerClient({ domainPrefix, baseUrl, source, fetch, renews: true, sharesOrigin: false });
  return { ...rest, client };
}

/** An API whose `/api/old` has moved. */
export function toNew({ location = "new", status = 200 } = {}): Listener {
  return ({ url }, response) => {
    if (url?.includes("/old")) response.writeHead(302, { location }).end();
    else response.writeHead(status).end("new");
  };
}

export async function connected(changes: Partial<RetailPosOptions> = {}) {
  const pos = retailPos({
    authUrl: "https://auth.example",
    baseUrl: "https://{domain_prefix}.retail.example",
    clientId: "client",
    clientSecret: "the secret",
    redirectUri: "https://app.example/callback",
    clock: () => T0,
    ...changes,
  });
  await pos.connect(tokenSet());
  return { pos, client: pos.retailer("shop") };
}

export function tokenSet(changes: Partial<TokenSet> = {}): TokenSet {
  return {
    domainPrefix: parseDomainPrefix("shop"),
    access: { value: "access-1", expiresAt: T0 + DAY_MS },
    refreshToken: "refresh-1",
    issuedAt: T0,
    version: "1",
    ...changes,
  };
}

/** A fetch that sends nothing and writes down where it would have sent it. */
export function recorder() {
  const calls: string[] = [];
  const fetch = async (input: string | URL | Request) => {
    calls.push(input instanceof Request ? input.url : String(input));
    return new Response("ok");
  };
  return { calls, fetch };
}

export async function bytesOf(body: NonNullable<RequestInit["body"]>): Promise<Buffer> {
  return Buffer.from(await new Response(body).arrayBuffer());
}

/** Both times the same bytes and the content type that this kind of body has. */
export async function sentTwice(seen: Seen[], body: NonNullable<RequestInit["body"]>): Promise<void> {
  const type = new Response(body).headers.get("content-type") ?? undefined;
  const raw = await bytesOf(body);
  expect(seen.map((one) => [one.headers["content-type"], one.raw.equals(raw)])).toEqual([
    [type, true],
    [type, true],
  ]);
}

type Parts = Parameters<typeof retailerClients>[0] & {
  domainPrefix: DomainPrefix;
  baseUrl: string;
  source: TokenSource;
};

export function retailerClient({ domainPrefix, baseUrl, source, ...shared }: Parts): RetailerClient {
  return retailerClients(shared)(domainPrefix, baseUrl, source);
}
