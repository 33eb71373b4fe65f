import { gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import {
  ACCESS,
  answer,
  CODE,
  failureOf,
  granted,
  options,
  REFRESH,
  served,
  shop,
  shown,
  T0,
} from "../../../testing/token-endpoint.js";
import { retailPos } from "../../retail-pos.js";
import { TokenResponseError } from "../../vocabulary/errors.js";

describe("a 2xx that is no usable token response is a TokenResponseError, for a refresh and for a login:", () => {
  const rows: Array<{ name: string; status?: number; body: unknown }> = [
    { name: "HTML", body: "<!doctype html><title>Sign in</title>" },
    { name: "nothing", body: "" },
    { name: "204", status: 204, body: "" },
    { name: "an empty object", body: {} },
    { name: "an error with status 200", body: { error: "invalid_grant" } },
    { name: "null", body: "null" },
    { name: "an array", body: [granted] },
    { name: "a text", body: JSON.stringify("canary-access") },
    { name: "a form", body: new URLSearchParams(granted as never).toString() },
    { name: "cut-off JSON", body: JSON.stringify(granted).slice(0, -1) },
    {
      name: "10 MB of white space around a good one",
      body: JSON.stringify(granted) + " ".repeat(10_000_000),
    },
    { name: "an access token that is a number", body: { access_token: 5 } },
    { name: "an access token that is an array", body: { access_token: ["canary-access"] } },
    { name: "an empty access token", body: { access_token: "" } },
    { name: "an access token that would be two headers", body: { access_token: "canary\r\nX-Evil: 1" } },
    { name: "inherited fields", body: `{"__proto__":${JSON.stringify(granted)}}` },
    { name: "another retailer's", body: { ...granted, domain_prefix: "other" } },
    {
      name: "another retailer's, which is no label",
      body: { ...granted, domain_prefix: "shop.evil.example/" },
    },
  ];
  for (const { name, status = 200, body } of rows) {
    test(name, async () => {
      const { endpoint, url, seen } = await served(answer(status, body));
      const pos = retailPos(options(url));
      for (const work of [
        () => endpoint.refresh(shop, REFRESH),
        () => endpoint.exchange(shop, CODE),
        () => pos.exchange("shop", CODE),
      ]) {
        const error = await failureOf(work());
        expect(error).toBeInstanceOf(TokenResponseError);
        expect(error).toMatchObject({ domainPrefix: "shop", status: 502 });
        expect(shown(error)).not.toContain("canary");
      }
      expect(seen).toHaveLength(3);
    });
  }

  test("a small answer that unpacks to 100 MB is not unpacked to its end", async () => {
    const packed = gzipSync(
      Buffer.concat([Buffer.from(JSON.stringify(granted)), Buffer.alloc(100_000_000, " ")]),
    );
    const { endpoint } = await served((_, response) => {
      response.writeHead(200, { "content-encoding": "gzip" }).end(packed);
    });
    expect(await failureOf(endpoint.refresh(shop, REFRESH))).toBeInstanceOf(TokenResponseError);
  });

  test("an answer without an end is given up after 1 MiB, long before the deadline", async () => {
    const { endpoint } = await served((_, response) => {
      response.writeHead(200);
      const more = () => {
        while (!response.destroyed && response.write(Buffer.alloc(65_536, " ")));
      };
      response.on("drain", more);
      more();
    });
    expect(await failureOf(endpoint.refresh(shop, REFRESH))).toBeInstanceOf(TokenResponseError);
  });

  test("but 1 MiB is read", async () => {
    const text = JSON.stringify(granted);
    const { endpoint } = await served(answer(200, text + " ".repeat(1024 * 1024 - text.length)));
    expect((await endpoint.refresh(shop, REFRESH)).response.access?.value).toBe(ACCESS);
    const { endpoint: longer } = await served(answer(200, text + " ".repeat(1024 * 1024 - text.length + 1)));
    expect(await failureOf(longer.refresh(shop, REFRESH))).toBeInstanceOf(TokenResponseError);
  });

  test("and a byte-order mark, another 2xx or another content type disturb nobody", async () => {
    for (const listener of [
      answer(200, `\uFEFF${JSON.stringify(granted)}`),
      answer(201, granted),
      answer(200, granted, { "content-type": "text/html" }),
    ]) {
      const { endpoint } = await served(listener);
      expect((await endpoint.refresh(shop, REFRESH)).response.access?.value).toBe(ACCESS);
    }
  });
});

describe("a login is read strictly", () => {
  const rows: Array<{ name: string; body: Record<string, unknown> }> = [
    { name: "no refresh token", body: { ...granted, refresh_token: undefined } },
    { name: "an empty refresh token", body: { ...granted, refresh_token: "" } },
    { name: "a refresh token of null", body: { ...granted, refresh_token: null } },
    { name: "a refresh token that is a number", body: { ...granted, refresh_token: 5 } },
    { name: "a refresh token that is an array", body: { ...granted, refresh_token: ["canary"] } },
    { name: "no access token", body: { ...granted, access_token: undefined } },
    { name: "another token type", body: { ...granted, token_type: "mac" } },
    { name: "an error beside the tokens", body: { ...granted, error: "invalid_grant" } },
    { name: "a domain_prefix that is a number", body: { ...granted, domain_prefix: 5 } },
    { name: "a domain_prefix that is an array", body: { ...granted, domain_prefix: ["other"] } },
    { name: "a domain_prefix that is an object", body: { ...granted, domain_prefix: { name: "other" } } },
  ];
  for (const { name, body } of rows) {
    test(`and is a TokenResponseError with ${name}`, async () => {
      const { url, seen } = await served(answer(200, body));
      const error = await failureOf(retailPos(options(url)).exchange("shop", CODE));
      expect(error).toBeInstanceOf(TokenResponseError);
      expect(shown(error)).not.toContain("canary");
      expect(seen).toHaveLength(1);
    });
  }

  test("and becomes a token set, stored nowhere", async () => {
    const { url } = await served(answer(200, { ...granted, domain_prefix: "SHOP", scope: "" }));
    const pos = retailPos(options(url));
    const set = await pos.exchange("Shop", CODE);
    expect(set).toEqual({
      domainPrefix: "shop",
      access: { value: ACCESS, expiresAt: T0 + 86_400_000 },
      refreshToken: "canary-rotated",
      issuedAt: T0,
      version: expect.any(String),
    });
    expect((await pos.exchange("shop", CODE)).version).not.toBe(set.version);
    await expect(pos.tokens("shop").token()).rejects.toMatchObject({ code: "not_connected" });
  });

  test("and a refresh leniently: what is usable is salvaged", async () => {
    const odd = {
      ...granted,
      token_type: "mac",
      error: "invalid_grant",
      domain_prefix: 5,
      expires_in: "never",
    };
    const { endpoint } = await served(answer(200, odd));
    const { response } = await endpoint.refresh(shop, REFRESH);
    expect(response).toMatchObject({ access: { value: ACCESS }, refreshToken: "canary-rotated" });
    const { endpoint: other } = await served(
      answer(200, { refresh_token: "canary-rotated", access_token: 5 }),
    );
    expect((await other.refresh(shop, REFRESH)).response.refreshToken).toBe("canary-rotated");
  });

  for (const code of ["", undefined, null, 5, ["code"], {}]) {
    test(`and needs a code: ${JSON.stringify(code)} is a TypeError, and nothing is sent`, async () => {
      const { url, seen } = await served(answer(200, granted));
      await expect(retailPos(options(url)).exchange("shop", code as string)).rejects.toThrow(TypeError);
      expect(seen).toEqual([]);
    });
  }
});
