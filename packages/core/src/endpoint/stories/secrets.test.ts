import type { RequestListener } from "node:http";
import { describe, expect, test } from "vitest";
import {
  ACCESS,
  all,
  answer,
  CODE,
  echo,
  endpointAt,
  fail,
  failureOf,
  granted,
  options,
  REFRESH,
  served,
  shop,
  shown,
} from "../../../testing/token-endpoint.js";
import { retailPos } from "../../retail-pos.js";
import { TokenEndpointError } from "../../vocabulary/errors.js";

describe("no error shows a secret, wherever the service or the wire repeats it:", () => {
  const echoes: Array<{ name: string; listener: RequestListener }> = [
    { name: "error", listener: echo((form) => answer(400, { error: all(form) })) },
    {
      name: "error_description",
      listener: echo((form) => answer(400, { error: "invalid_request", error_description: all(form) })),
    },
    {
      name: "error_description, as it was sent",
      listener: echo((_, body) => answer(500, { error_description: body })),
    },
    ...(
      [
        ["with zero-width blanks", (text) => text.replaceAll("n", "n\u200b")],
        ["with soft hyphens", (text) => text.replaceAll("n", "n\u00ad")],
        ["with no-break spaces", (text) => text.replaceAll(" ", "\u00a0")],
        ["as HTML's numbers", (text) => text.replaceAll("c", "&#99;")],
        ["in base64", (text) => Buffer.from(text).toString("base64")],
      ] satisfies [string, (text: string) => string][]
    ).map(([how, change]) => ({
      name: `error_description, ${how}`,
      listener: echo((form) => answer(500, { error_description: change(all(form)) })),
    })),
    { name: "an HTML page", listener: echo((_, body) => answer(500, `<pre>${body}</pre>`)) },
    { name: "a page that is no JSON", listener: echo((_, body) => answer(200, body)) },
    {
      name: "invalid_client",
      listener: echo((form) => answer(401, { error: "invalid_client", error_description: all(form) })),
    },
    {
      name: "invalid_grant",
      listener: echo((form) => answer(400, { error: "invalid_grant", error_description: all(form) })),
    },
    { name: "a redirect", listener: echo((_, body) => answer(302, "", { location: `/login?${body}` })) },
    {
      name: "rate limit headers",
      listener: echo((_, body) => answer(429, body, { "X-RateLimit-Reset": body })),
    },
    { name: "the token type", listener: echo((form) => answer(200, { ...granted, token_type: all(form) })) },
    {
      name: "domain_prefix",
      listener: echo((form) => answer(200, { ...granted, domain_prefix: all(form) })),
    },
    {
      name: "a broken header",
      listener: echo((_, body) => (request) => request.socket.end(`HTTP/1.1 200 OK\r\n${body}\r\n\r\n`)),
    },
  ];
  for (const { name, listener } of echoes) {
    test(name, async () => {
      const { endpoint, url } = await served(listener);
      const events: unknown[] = [];
      const pos = retailPos({ ...options(url), observe: (event) => events.push(event) });
      const errors = [
        await failureOf(pos.exchange("shop", CODE)),
        await failureOf(endpoint.exchange(shop, CODE).then(fail)),
        await failureOf(endpoint.refresh(shop, REFRESH).then(fail)),
      ];
      for (const value of [...errors, events]) expect(shown(value)).not.toContain("canary");
    });
  }

  test("an own fetch that puts the request into its error", async () => {
    const fetch = async (input: unknown, init?: RequestInit) => {
      const form = Object.fromEntries(new URLSearchParams(String(init?.body)));
      const request = { input, init, form, request: new Request(String(input), init) };
      throw Object.assign(new Error(`failed: ${init?.body} ${all(form)}`, { cause: request }), request, {
        code: "EX",
      });
    };
    const own = fetch as typeof globalThis.fetch;
    const endpoint = endpointAt("https://{domain_prefix}.retail.example", { fetch: own });
    for (const work of [() => endpoint.exchange(shop, CODE), () => endpoint.refresh(shop, REFRESH)]) {
      const error = await failureOf(work());
      expect(error).toBeInstanceOf(TokenEndpointError);
      expect(error.cause).toMatchObject({ code: "EX", message: expect.stringContaining("failed") });
      expect(shown(error)).not.toContain("canary");
    }
  });
});

test("one failed request does not poison the next", async () => {
  let count = 0;
  const { endpoint } = await served((request, response) => {
    count += 1;
    if (count === 1) request.socket.destroy();
    else answer(200, granted)(request, response);
  });
  await failureOf(endpoint.refresh(shop, REFRESH));
  expect((await endpoint.refresh(shop, REFRESH)).response.access?.value).toBe(ACCESS);
});
