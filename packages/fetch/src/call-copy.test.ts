import { afterEach, beforeEach, expect, test } from "vitest";
import { type ApiServer, apiServer } from "../testing/api-server.js";
import { type RetailFetch, retailFetch } from "./index.js";

let api: ApiServer;
let fetch: RetailFetch;

beforeEach(async () => {
  api = await apiServer((_, response) => response.end("ok"));
  fetch = retailFetch({ perHost: 1 });
});
afterEach(async () => {
  await api.close();
  await fetch.close();
});

const text = async (answered: Promise<Response>) => (await answered).text();

test.each([8, 4000])("a Content-Length of %i, left from another body, is not sent", async (length) => {
  const body = JSON.stringify({ name: "tea", note: "added later" });
  const headers = { "Content-Length": String(length) };
  const bare = new Request(api.origin, { method: "POST", headers });
  for (const given of [headers, new Headers(headers), Object.entries(headers)])
    expect(
      await text(fetch(api.origin, { method: "POST", headers: given as Record<string, string>, body })),
    ).toBe("ok");
  expect(await text(fetch(bare, { body }))).toBe("ok");
  expect(api.connections).toBe(1);
});
