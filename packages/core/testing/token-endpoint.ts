// What the tests of the token endpoint share: an endpoint on this machine, secrets to be searched for, and answers.

import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { inspect } from "node:util";
import nock from "nock";
import { afterEach } from "vitest";
import {
  type TokenEndpoint,
  type TokenEndpointOptions,
  tokenEndpoint,
} from "../src/endpoint/token-endpoint.js";
import { addressesAt } from "../src/settings/addresses.js";
import type { RetailPosOptions } from "../src/settings/options.js";
import { parseDomainPrefix } from "../src/vocabulary/domain-prefix.js";
import { isRetailPosError, type RetailPosError, TokenResponseError } from "../src/vocabulary/errors.js";

export const T0 = Date.UTC(2030, 0, 1);
export const shop = parseDomainPrefix("shop");
/** Signs that have to be encoded in a form, and in ways that differ. */
export const CODE = "canary-code /+&=%é";
export const REFRESH = "canary-refresh /+&=%é";
export const CLIENT_SECRET = "canary-client-secret /+&=%é";
export const ACCESS = "canary-access";
export const granted = {
  access_token: ACCESS,
  token_type: "Bearer",
  expires_in: 86_400,
  refresh_token: "canary-rotated",
};

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
  body: string;
}

/** A real service on this machine; the listener runs when the request's body has come in. */
export async function served(listener: RequestListener, changes: Partial<TokenEndpointOptions> = {}) {
  const seen: Seen[] = [];
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request) body += chunk;
    seen.push({ method: request.method, url: request.url, headers: request.headers, body });
    bodies.set(request, body);
    listener(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const close = () => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  };
  closing.push(close);
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { endpoint: endpointAt(`${url}/{domain_prefix}`, changes), seen, url, close };
}

export const bodies = new WeakMap<IncomingMessage, string>();

export function endpointAt(baseUrl: string, changes: Partial<TokenEndpointOptions> = {}): TokenEndpoint {
  return tokenEndpoint({
    addresses: addressesAt("https://auth.example", baseUrl),
    clientId: "the client",
    clientSecret: CLIENT_SECRET,
    redirectUri: "https://app.example/callback?a=b",
    timeoutMs: 10_000,
    userAgent: "test-agent",
    fetch: (...call) => globalThis.fetch(...call),
    clock: () => T0,
    ...changes,
  });
}

export function options(url: string): RetailPosOptions {
  return {
    authUrl: "https://auth.example",
    baseUrl: `${url}/{domain_prefix}`,
    clientId: "the client",
    clientSecret: CLIENT_SECRET,
    redirectUri: "https://app.example/callback",
    clock: () => T0,
  };
}

export function answer(status: number, body: unknown, headers: Record<string, string> = {}): RequestListener {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  return (_, response) => {
    response.writeHead(status, { "content-type": "application/json", ...headers }).end(text);
  };
}

/** Answers with what it was sent. */
export function echo(make: (form: Record<string, string>, body: string) => RequestListener): RequestListener {
  return (request, response) => {
    const body = bodies.get(request) ?? "";
    make(Object.fromEntries(new URLSearchParams(body)), body)(request, response);
  };
}

export function all(form: Record<string, string>): string {
  return Object.values(form).join(" ");
}

export function cutOff(response: ServerResponse, status: number): void {
  response.writeHead(status, { "content-length": "1000" });
  response.write('{"access_token":', () => response.destroy());
}

export function formOf(seen: Seen | undefined): Array<[string, string]> {
  return [...new URLSearchParams(seen?.body)].sort(([a], [b]) => (a < b ? -1 : 1));
}

export async function failureOf(work: Promise<unknown>): Promise<RetailPosError> {
  try {
    await work;
  } catch (error) {
    if (isRetailPosError(error)) return error;
    throw error;
  }
  throw new Error("it did not fail");
}

/** For a refresh that salvages: what it returned is not of interest here. */
export function fail(): never {
  throw new TokenResponseError("salvaged");
}

/** Everything somebody might print of an error or an event. */
export function shown(error: unknown): string {
  const parts = [
    inspect(error, { depth: 10, showHidden: true }),
    inspect(error),
    String(error),
    JSON.stringify(error),
  ];
  if (error instanceof Error) {
    parts.push(error.name, error.message, error.stack ?? "");
    if (error.cause !== undefined) parts.push(shown(error.cause));
    for (const key of Object.getOwnPropertyNames(error)) parts.push(`${key} ${Reflect.get(error, key)}`);
  }
  return parts.join("\n");
}
