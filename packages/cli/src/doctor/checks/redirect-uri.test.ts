import { expect, test } from "vitest";
import { differences } from "./differences.js";
import { checkRedirectUri } from "./request.js";

const registered = "https://app.example.com/auth/callback";

test.each([
  ["http://app.example.com/auth/callback", ["the scheme, http: instead of https:"]],
  ["https://www.example.com/auth/callback", ["the host, www.example.com instead of app.example.com"]],
  ["https://App.example.com/auth/callback", ["upper and lower case in the host"]],
  ["https://app.example.com:443/auth/callback", ["the port, :443 instead of none"]],
  ["https://app.example.com/auth/callback/", ["a slash at the end too many"]],
  ["https://app.example.com/auth/Callback", ["upper and lower case in the path"]],
  ["https://app.example.com/auth/c%61llback", ["the path, /auth/c%61llback instead of /auth/callback"]],
  ["https://app.example.com/auth/callback?from=menu", ["the query, ?from=menu instead of none"]],
  ["https://app.example.com/auth/callback?", ["the query, ? instead of none"]],
  ["https://app.example.com/auth/callback#top", ["the fragment, #top instead of none"]],
  ["https://app.example.com/auth/callback ", ["the path, /auth/callback  instead of /auth/callback"]],
  [
    "http://localhost:3000/auth/callback",
    [
      "the scheme, http: instead of https:",
      "the host, localhost instead of app.example.com",
      "the port, :3000 instead of none",
    ],
  ],
  ["nonsense", expect.arrayContaining(["the path, nonsense instead of /auth/callback"])],
  [registered, []],
])("%s against the registered address", (sent, expected) => {
  expect(differences(registered, sent)).toEqual(expected);
});

test("a slash that is registered and not sent", () => {
  expect(differences("https://app.example.com/", "https://app.example.com")).toEqual([
    "a slash at the end too few",
  ]);
});

test("an IPv6 host keeps its colons", () => {
  expect(differences("http://[::1]:3000/callback", "http://[::1]:3001/callback")).toEqual([
    "the port, :3001 instead of :3000",
  ]);
});

test.each([
  ["https://app.example.com/callback", []],
  ["http://localhost:3000/callback", []],
  ["http://127.0.0.1:3000/callback", []],
  ["http://[::1]:3000/callback", []],
  ["http://192.168.1.20:3000/callback", ["redirect-uri-transport"]],
  ["http://app.example.com/callback", ["redirect-uri-transport"]],
  ["http://localhost.example.com/callback", ["redirect-uri-transport"]],
  ["https://app.example.com/callback?from=menu", ["redirect-uri-query"]],
  ["https://app.example.com/callback#top", ["redirect-uri-fragment"]],
  ["/callback", ["redirect-uri"]],
  ["app.example.com/callback", ["redirect-uri"]],
])("%s by itself", (address, expected) => {
  const troubles = checkRedirectUri(address, address).filter(({ level }) => level !== "ok");
  expect(troubles.map(({ check }) => check)).toEqual(expected);
});

test("control characters do not reach the terminal", () => {
  const found = JSON.stringify(checkRedirectUri("https://app.example.com/\u001b[2J", registered));
  expect(found).not.toMatch(/\\u001b/);
  expect(found).toContain("/?[2J");
});
