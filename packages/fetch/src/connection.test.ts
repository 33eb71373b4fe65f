import { afterEach, beforeEach, describe, expect, test } from "vitest";
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

describe("a header that undici refuses fails its own call only:", () => {
  const rows: Record<string, string>[] = [
    { expect: "100-continue" },
    { "transfer-encoding": "chunked" },
    { upgrade: "h2c" },
    { "keep-alive": "timeout=5" },
    { connection: "no, token; here" },
    { "content-length": "many" },
  ];

  for (const headers of rows) {
    test(Object.entries(headers).join(), async () => {
      for (const round of [1, 2, 3]) {
        expect(await text(fetch(`${api.origin}/?before=${round}`))).toBe("ok"); // keeps the connection
        await expect(fetch(`${api.origin}/`, { headers }), `round ${round}`).rejects.toThrow(TypeError);
        expect(await text(fetch(`${api.origin}/?after=${round}`))).toBe("ok");
      }
      expect(api.connections).toBe(1);
    });
  }
});
