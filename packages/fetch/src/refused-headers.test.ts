import { expect, onTestFinished, test } from "vitest";
import { apiServer } from "../testing/api-server.js";
import { retailFetch } from "./index.js";

test.each<Record<string, string>>([
  { expect: "100-continue" },
  { "transfer-encoding": "chunked" },
  { upgrade: "h2c" },
  { "keep-alive": "timeout=5" },
  { connection: "no, token; here" },
  { "content-length": "many" },
])("a header that undici refuses fails its own call only: %j", async (headers) => {
  const api = await apiServer((_, response) => response.end("ok"));
  onTestFinished(() => api.close());
  const fetch = retailFetch({ perHost: 1 });
  const served = async (path: string) => (await fetch(api.origin + path)).text();
  for (const round of [1, 2, 3]) {
    expect(await served(`/?before=${round}`)).toBe("ok"); // keeps the connection
    await expect(fetch(`${api.origin}/refused`, { headers }), `round ${round}`).rejects.toThrow(TypeError);
    expect(await served(`/?after=${round}`)).toBe("ok");
  }
  expect(api.came).not.toContain("/refused");
  await fetch.close();
});
