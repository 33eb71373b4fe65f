import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { inspect } from "node:util";
import { afterEach, describe, expect, test } from "vitest";
import { ReconnectRequiredError } from "../vocabulary/errors.js";
import { type PersonalTokenOptions, personalToken } from "./personal-token.js";

const TOKEN = "canary-personal-7e2d";
const closing: Array<() => void> = [];

afterEach(() => {
  for (const close of closing.splice(0)) close();
});

describe("a personal token (R7)", () => {
  test("is sent like an access token, on every request", async () => {
    const { client, seen } = await served(200);
    await client.fetch("/api/products");
    await client.fetch("api/products", {
      method: "POST",
      body: "tea",
      headers: { AUTHORIZATION: "Basic mine" },
    });
    expect(seen).toEqual([
      { line: "GET /shop/api/products", authorization: `Bearer ${TOKEN}` },
      { line: "POST /shop/api/products", authorization: `Bearer ${TOKEN}` },
    ]);
  });

  test("never expires and is handed out at once", async () => {
    const { client, seen } = await served(200);
    expect(await client.token()).toEqual({ value: TOKEN });
    expect(await client.token({})).toEqual({ value: TOKEN });
    expect(seen).toEqual([]);
  });

  test("cannot be changed by who got it", async () => {
    const { client } = await served(200);
    const token = await client.token();
    expect(() => Object.assign(token, { value: "changed" })).toThrow(TypeError);
    expect((await client.token()).value).toBe(TOKEN);
  });
});

describe("a 401 with a personal token", () => {
  test("is returned as it is, without a retry and without a token request", async () => {
    const { client, seen } = await served(401);
    for (const init of [{}, { method: "POST", body: "tea" }]) {
      const response = await client.fetch("/api/products", init);
      expect([response.status, await response.text()]).toEqual([401, "answer"]);
    }
    expect(seen.map(({ line }) => line)).toEqual(["GET /shop/api/products", "POST /shop/api/products"]);
  });

  test("of a Request is returned too, with its body sent once", async () => {
    const { client, seen } = await served(401);
    const request = new Request(`${client.baseUrl}/api/products`, { method: "POST", body: "tea" });
    expect((await client.fetch(request)).status).toBe(401);
    expect(seen).toHaveLength(1);
  });

  test("makes asking for another token a ReconnectRequiredError, and nothing is sent", async () => {
    const { client, seen } = await served(401);
    const error = await client.token({ rejected: TOKEN }).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(ReconnectRequiredError);
    expect(error).toMatchObject({ code: "reconnect_required", status: 401, domainPrefix: "shop" });
    expect(seen).toEqual([]);
  });

  test("does not poison the next call", async () => {
    const { client } = await served(401);
    await client.token({ rejected: TOKEN }).catch(() => {});
    expect(await client.token()).toEqual({ value: TOKEN });
    expect(await client.token({ rejected: "another token" })).toEqual({ value: TOKEN });
  });
});

test("a caller's abort ends the asking, and does not poison the next", async () => {
  const { client } = await served(200);
  const signal = AbortSignal.abort(new Error("enough"));
  await expect(client.token({ signal })).rejects.toThrow("enough");
  await expect(client.fetch("/api/products", { signal })).rejects.toThrow("enough");
  expect(await client.token({ signal: new AbortController().signal })).toEqual({ value: TOKEN });
});

describe("baseUrl is the template or the retailer's own address:", () => {
  const rows = [
    { baseUrl: "https://{domain_prefix}.retail.example", result: "https://shop.retail.example" },
    { baseUrl: "https://retail.example/r/{domain_prefix}/", result: "https://retail.example/r/shop" },
    { baseUrl: "https://shop.retail.example", result: "https://shop.retail.example" },
    { baseUrl: "https://shop.retail.example/", result: "https://shop.retail.example" },
    { baseUrl: "https://shop.retail.example/pos//", result: "https://shop.retail.example/pos" },
    { baseUrl: "http://127.0.0.1:3000", result: "http://127.0.0.1:3000" },
  ];
  for (const { baseUrl, result } of rows) {
    test(baseUrl, () => {
      expect(personalToken(options({ baseUrl })).baseUrl).toBe(result);
    });
  }
});

describe("an option that is wrong is a TypeError naming it, at once:", () => {
  const rows: Array<{ option: keyof PersonalTokenOptions; value: unknown }> = [
    ...[
      "",
      " ",
      `${TOKEN} `,
      `${TOKEN}\n`,
      `${TOKEN}\r\nX-Evil: 1`,
      "ключ",
      undefined,
      null,
      5,
      [TOKEN],
      {},
    ].map((value) => ({ option: "token" as const, value })),
    ...[
      "http://shop.retail.example",
      "http://{domain_prefix}.retail.example",
      "https://{domain_prefix}",
      "https://{domain_prefix}.retail.example/{domain_prefix}",
      "https://user:password@shop.retail.example",
      "https://shop.retail.example/?a=b",
      "https://shop.retail.example/#a",
      "shop.retail.example",
      "/api",
      "",
      undefined,
      null,
      5,
      ["https://{domain_prefix}.retail.example"],
    ].map((value) => ({ option: "baseUrl" as const, value })),
    ...[null, {}, "fetch"].map((value) => ({ option: "fetch" as const, value })),
  ];
  for (const { option, value } of rows) {
    test(`${option}: ${JSON.stringify(value)}`, () => {
      const make = () => personalToken({ ...options(), [option]: value } as PersonalTokenOptions);
      expect(make).toThrow(TypeError);
      expect(make).toThrow(new RegExp(`^${option} `));
      expect(make).not.toThrow(/canary/);
    });
  }
});

test("no error and nothing that is returned shows the personal token", async () => {
  const { client } = await served(401);
  await client.fetch("/api/products");
  const errors = [
    await client.token({ rejected: TOKEN }).catch((reason: unknown) => reason),
    await client.fetch("https://evil.example/").catch((reason: unknown) => reason),
    await client.fetch("/api/products", { method: "no method" }).catch((reason: unknown) => reason),
  ];
  for (const value of [client, ...errors]) {
    const printed = [inspect(value, { depth: 10, showHidden: true }), String(value), JSON.stringify(value)];
    if (value instanceof Error) printed.push(value.message, value.stack ?? "", inspect(value.cause));
    expect(printed.join("\n")).not.toContain("canary");
  }
});

test("an address outside baseUrl is a TypeError, and nothing is sent", async () => {
  const { client, seen } = await served(200);
  for (const input of [
    "//evil.example",
    "https://evil.example/",
    "../other",
    "..%2fother",
    "\\\\evil.example",
  ]) {
    await expect(client.fetch(input)).rejects.toThrow(TypeError);
  }
  expect(seen).toEqual([]);
});

function options(changes: Partial<PersonalTokenOptions> = {}): PersonalTokenOptions {
  return {
    baseUrl: "https://{domain_prefix}.retail.example",
    domainPrefix: "Shop",
    token: TOKEN,
    ...changes,
  };
}

/** A real API that answers everything alike and writes down what it saw. */
async function served(status: number) {
  const seen: Array<{ line: string; authorization: string | undefined }> = [];
  const server = createServer((request, response) => {
    seen.push({ line: `${request.method} ${request.url}`, authorization: request.headers.authorization });
    request.resume();
    response.writeHead(status).end("answer");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  closing.push(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { client: personalToken(options({ baseUrl: `http://127.0.0.1:${port}/{domain_prefix}` })), seen };
}
