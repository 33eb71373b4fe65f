import { expect, test } from "vitest";
import { errorSaid } from "./page-text.js";

const said = (text: string) =>
  errorSaid({
    ...{ url: new URL("http://localhost/login"), status: 500, headers: new Headers(), text },
    location: undefined,
  });

test.each([
  [
    "Express in development",
    "<pre>Error: the database is away<br> &nbsp; at Store.get (/app/store.js:1:1)</pre>",
  ],
  ["a plain stack", "Error: the database is away\n    at Store.get (/app/store.js:1:1)"],
  ["a stack with a code", "Error [ERR_STORE]: the database is away\n    at Store.get (/app/store.js:1:1)"],
  ["Fastify", '{"statusCode":500,"error":"Internal Server Error","message":"the database is away"}'],
  ["JSON with an error inside", '{"error":{"message":"the database is away"}}'],
  [
    "a page with a title and styles",
    "<title>Error: no</title><style>a{}</style><h1>Error: the database is away</h1>",
  ],
])("%s: the page's error is quoted", (_name, text) => {
  expect(said(text)).toBe(' Its page says: "Error: the database is away".');
});

test.each([
  ["an error of the language", "TypeError: boom\n   at x", "TypeError: boom"],
  ["an address", "Error: connect ECONNREFUSED 127.0.0.1:6379", "Error: connect ECONNREFUSED [hidden]"],
  [
    "a password",
    "Error: password canary-1 at redis://user:canary@host",
    "Error: password [hidden] at [hidden]",
  ],
  ["a token", "Error: eyJhbGciOi.canary is no token", "Error: [hidden] is no token"],
  ["a long word", "Error: abcdefghijklmnopcanary is wrong", "Error: [hidden] is wrong"],
])("of %s only plain words stay", (_name, text, words) => {
  expect(said(text)).toBe(` Its page says: "${words}".`);
});

test.each([
  ["an empty page", ""],
  ["Express in production", "<pre>Internal Server Error</pre>"],
  ["Fastify in production", '{"statusCode":500,"message":"Internal Server Error"}'],
  ["Nest", '{"statusCode":500,"message":"Internal server error"}'],
  ["a page of its own", "<h1>Something failed</h1>"],
  ["JSON that is none", '{"message": '],
  ["JSON without words", '{"message":7}'],
  ["an error of which no word is plain", "Error: canary-1"],
])("%s says nothing", (_name, text) => {
  expect(said(text)).toBe("");
});
