import { describe, expect, test } from "vitest";
import { parseDomainPrefix } from "../vocabulary/domain-prefix.js";
import { addressesAt, baseUrlOf, connectUrlOf, redirectUri, secureUrl, tokenUrl } from "./addresses.js";

const shop = parseDomainPrefix("shop");

describe("the consent page", () => {
  for (const { name, authUrl, url } of [
    { name: "a host", authUrl: "https://auth.example", url: "https://auth.example/connect" },
    { name: "a trailing slash", authUrl: "https://auth.example/", url: "https://auth.example/connect" },
    { name: "a path", authUrl: "https://auth.example/oauth", url: "https://auth.example/oauth/connect" },
    {
      name: "a path with slashes behind",
      authUrl: "https://auth.example/oauth//",
      url: "https://auth.example/oauth/connect",
    },
    { name: "a port", authUrl: "https://auth.example:8443", url: "https://auth.example:8443/connect" },
    {
      name: "a URL object",
      authUrl: new URL("https://auth.example/a"),
      url: "https://auth.example/a/connect",
    },
    { name: "http on localhost", authUrl: "http://localhost:3000", url: "http://localhost:3000/connect" },
  ]) {
    test(`lies at /connect below authUrl: ${name}`, () => {
      expect(addressesAt(authUrl, "https://{domain_prefix}.retail.example").connectUrl).toBe(url);
    });
  }
});

test("without authUrl there is none", () => {
  expect(addressesAt(undefined, "https://{domain_prefix}.retail.example").connectUrl).toBeUndefined();
});

for (const authUrl of ["https://auth.example/connect", "https://auth.example/oauth/connect/"]) {
  test(`an authUrl that has /connect already is refused: ${authUrl}`, () => {
    expect(() => connectUrlOf("authUrl", authUrl)).toThrow(/^authUrl must be without \/connect/);
    expect(() => connectUrlOf("authUrl", new URL(authUrl))).toThrow(TypeError);
  });
}

describe("a redirect_uri", () => {
  for (const uri of [
    "https://app.example/callback",
    "https://APP.example:443/a/../callback?a=b&c=%20d",
    "http://localhost:3000/callback",
    "http://127.8.9.10/callback",
    "http://[::1]:3000/callback",
    "http://app.localhost/callback",
  ]) {
    test(`is taken as it is: ${uri}`, () => expect(redirectUri("redirectUri", uri)).toBe(uri));
  }
  for (const uri of [
    "http://app.example/callback",
    "http://localhost.evil.example/callback",
    "http://192.168.1.1/callback",
    "com.example.app:/callback",
    "javascript:alert(1)",
    "data:text/html,x",
    "file:///etc/passwd",
    "ftp://localhost/callback",
    "https://user@app.example/callback",
    "https://:password@app.example/callback",
    "https://app.example/callback#a",
    "/callback",
    " https://app.example/callback",
    "",
    5,
    null,
    undefined,
    ["https://app.example/callback"],
    new URL("https://app.example/callback"),
  ]) {
    test(`is refused, and named: ${uri}`, () => {
      expect(() => redirectUri("redirectUri", uri)).toThrow(TypeError);
      expect(() => redirectUri("redirectUri", uri)).toThrow(/^redirectUri must /);
    });
  }
});

describe("baseUrl becomes a retailer's address", () => {
  for (const { name, baseUrl, url } of [
    {
      name: "first label",
      baseUrl: "https://{domain_prefix}.retail.example",
      url: "https://shop.retail.example",
    },
    {
      name: "trailing slash",
      baseUrl: "https://{domain_prefix}.retail.example/",
      url: "https://shop.retail.example",
    },
    {
      name: "a port",
      baseUrl: "https://{domain_prefix}.retail.example:8443",
      url: "https://shop.retail.example:8443",
    },
    {
      name: "a path behind",
      baseUrl: "https://{domain_prefix}.retail.example/pos/v2/",
      url: "https://shop.retail.example/pos/v2",
    },
    {
      name: "capitals",
      baseUrl: "HTTPS://{domain_prefix}.Retail.EXAMPLE",
      url: "https://shop.retail.example",
    },
    {
      name: "last segment",
      baseUrl: "https://retail.example/{domain_prefix}",
      url: "https://retail.example/shop",
    },
    {
      name: "last segment with a slash",
      baseUrl: "https://retail.example/{domain_prefix}/",
      url: "https://retail.example/shop",
    },
    {
      name: "inner segment",
      baseUrl: "https://retail.example/r/{domain_prefix}/pos",
      url: "https://retail.example/r/shop/pos",
    },
    {
      name: "a service called retailer",
      baseUrl: "https://{domain_prefix}.retailer.example/retailerr",
      url: "https://shop.retailer.example/retailerr",
    },
    {
      name: "a subdomain of localhost over http",
      baseUrl: "http://{domain_prefix}.localhost:3000",
      url: "http://shop.localhost:3000",
    },
    {
      name: "127.0.0.1 over http",
      baseUrl: "http://127.0.0.1:3000/{domain_prefix}",
      url: "http://127.0.0.1:3000/shop",
    },
    { name: "[::1] over http", baseUrl: "http://[::1]:3000/{domain_prefix}", url: "http://[::1]:3000/shop" },
  ]) {
    test(name, () => {
      expect(addressesAt("https://auth.example", baseUrl).baseUrl(shop)).toBe(url);
      expect(tokenUrl(baseUrlOf(baseUrl)(shop))).toBe(`${url}/api/1.0/token`);
    });
  }

  test("of each retailer its own, whatever the letters", () => {
    const baseUrl = baseUrlOf("https://{domain_prefix}.retail.example");
    expect(baseUrl(parseDomainPrefix("retailer"))).toBe("https://retailer.retail.example");
    expect(baseUrl(parseDomainPrefix("a-1"))).toBe("https://a-1.retail.example");
  });
});

describe("baseUrl is refused:", () => {
  for (const { name, baseUrl } of [
    { name: "no placeholder", baseUrl: "https://shop.retail.example" },
    { name: "two placeholders", baseUrl: "https://{domain_prefix}.retail.example/{domain_prefix}" },
    { name: "another spelling", baseUrl: "https://{domainPrefix}.retail.example" },
    { name: "capitals in the placeholder", baseUrl: "https://{DOMAIN_PREFIX}.retail.example" },
    { name: "an encoded placeholder", baseUrl: "https://retail.example/%7Bdomain_prefix%7D" },
    { name: "second label", baseUrl: "https://api.{domain_prefix}.retail.example" },
    { name: "last label", baseUrl: "https://retail.{domain_prefix}" },
    { name: "the whole host", baseUrl: "https://{domain_prefix}" },
    { name: "the whole host with a path", baseUrl: "https://{domain_prefix}/api" },
    { name: "the whole host with a port", baseUrl: "https://{domain_prefix}:8443" },
    { name: "the whole host with the root's dot", baseUrl: "https://{domain_prefix}./api" },
    { name: "part of a label, in front", baseUrl: "https://x{domain_prefix}.retail.example" },
    { name: "part of a label, behind", baseUrl: "https://{domain_prefix}x.retail.example" },
    { name: "part of a segment", baseUrl: "https://retail.example/r-{domain_prefix}" },
    { name: "the beginning of a segment", baseUrl: "https://retail.example/{domain_prefix}.json" },
    { name: "the port", baseUrl: "https://retail.example:{domain_prefix}" },
    { name: "the query", baseUrl: "https://retail.example/?retailer={domain_prefix}" },
    { name: "a segment inside the query", baseUrl: "https://retail.example/?/{domain_prefix}" },
    { name: "the fragment", baseUrl: "https://retail.example/#/{domain_prefix}" },
    { name: "the user name", baseUrl: "https://{domain_prefix}@retail.example" },
    {
      name: "a user name that looks like a host",
      baseUrl: "https://{domain_prefix}.retail.example@evil.example",
    },
    { name: "a user name before a path", baseUrl: "https://user:password@retail.example/{domain_prefix}" },
    { name: "the scheme", baseUrl: "{domain_prefix}://retail.example" },
    { name: "no scheme", baseUrl: "{domain_prefix}.retail.example" },
    { name: "a scheme left out", baseUrl: "//{domain_prefix}.retail.example" },
    { name: "one slash", baseUrl: "https:/{domain_prefix}.retail.example" },
    { name: "another scheme", baseUrl: "ftp://{domain_prefix}.retail.example" },
    { name: "http", baseUrl: "http://{domain_prefix}.retail.example" },
    { name: "http in a path", baseUrl: "http://retail.example/{domain_prefix}" },
    { name: "a query behind", baseUrl: "https://{domain_prefix}.retail.example/?a=b" },
    { name: "an empty query behind", baseUrl: "https://{domain_prefix}.retail.example/?" },
    { name: "a fragment behind", baseUrl: "https://{domain_prefix}.retail.example/#a" },
    { name: "a segment that dots remove", baseUrl: "https://retail.example/{domain_prefix}/.." },
    {
      name: "a segment that encoded dots remove",
      baseUrl: "https://retail.example/{domain_prefix}/%2e%2e/x",
    },
    { name: "a label that a backslash ends", baseUrl: "https://{domain_prefix}.\\retail.example" },
    { name: "a numeric host", baseUrl: "https://{domain_prefix}.0.0.1" },
    { name: "empty", baseUrl: "" },
    { name: "no text", baseUrl: 5 },
    { name: "an array", baseUrl: ["https://{domain_prefix}.retail.example"] },
    { name: "a URL object", baseUrl: new URL("https://retail.example/%7Bdomain_prefix%7D") },
    { name: "null", baseUrl: null },
    { name: "undefined", baseUrl: undefined },
  ]) {
    test(name, () => {
      expect(() => addressesAt("https://auth.example", baseUrl)).toThrow(TypeError);
      expect(() => addressesAt("https://auth.example", baseUrl)).toThrow(/baseUrl/);
    });
  }
});

describe("an address that secrets are sent to is refused:", () => {
  for (const { name, url } of [
    { name: "http", url: "http://auth.example" },
    { name: "http on a host that begins like loopback", url: "http://127.0.0.1.evil.example" },
    { name: "http on a host that begins like localhost", url: "http://localhost.evil.example" },
    { name: "http on a host that ends like localhost", url: "http://evillocalhost" },
    { name: "http on every interface", url: "http://0.0.0.0" },
    { name: "http on a private network", url: "http://192.168.1.1" },
    { name: "http on another IPv6 address", url: "http://[::2]" },
    { name: "a WebSocket", url: "wss://auth.example" },
    { name: "a file", url: "file:///etc/passwd" },
    { name: "JavaScript", url: "javascript:alert(1)" },
    { name: "data", url: "data:text/html,x" },
    { name: "a user name", url: "https://user@auth.example" },
    { name: "a password", url: "https://:password@auth.example" },
    { name: "a query", url: "https://auth.example/?a=b" },
    { name: "an empty query", url: "https://auth.example?" },
    { name: "a fragment", url: "https://auth.example#a" },
    { name: "an empty fragment", url: "https://auth.example/#" },
    { name: "a host alone", url: "auth.example" },
    { name: "a path alone", url: "/auth" },
    { name: "empty", url: "" },
    { name: "a number", url: 5 },
    { name: "null", url: null },
    { name: "undefined", url: undefined },
    { name: "an object", url: { href: "https://auth.example" } },
  ]) {
    test(name, () => {
      expect(() => secureUrl("authUrl", url)).toThrow(TypeError);
      expect(() => secureUrl("authUrl", url)).toThrow(/^authUrl /);
      expect(() => connectUrlOf("authUrl", url)).toThrow(/^authUrl /);
    });
  }

  test("and its password is not repeated", () => {
    expect(() => secureUrl("authUrl", "https://user:canary@auth.example")).not.toThrow(/canary/);
  });

  for (const url of [
    "http://localhost:3000",
    "http://LOCALHOST",
    "http://shop.localhost",
    "http://127.0.0.1:3000",
    "http://127.8.9.10",
    "http://[::1]:3000",
    "https://auth.example",
  ]) {
    test(`but not ${url}`, () => {
      expect(secureUrl("authUrl", url)).toBeInstanceOf(URL);
    });
  }
});
