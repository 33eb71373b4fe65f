import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, onTestFinished, test } from "vitest";
import { newCertificate } from "../../../test/support/certificate.js";
import { apiServer } from "../testing/api-server.js";
import { type RetailFetch, retailFetch } from "./index.js";

// What real hosts may say of when to come again, and who they say they are.

let fetch: RetailFetch;
afterEach(() => fetch.close());

const inSeconds = (seconds: number) => String(Math.ceil(Date.now() / 1000) + seconds);

/** Answers 429 with these headers once, then what was asked for. */
async function limitedOnce(headers: () => Record<string, string>) {
  const api = await apiServer((_, response) => {
    if (api.came.length === 1) response.writeHead(429, headers()).end("too many");
    else response.end("served");
  });
  onTestFinished(() => api.close());
  return api;
}

describe("a host that answers 429 once", () => {
  test.each(["soon", "-1", "", "Tue, 01 Jan 2019 12:00:00 GMT"])(
    'with "Retry-After: %s" is asked again at its reset',
    async (text) => {
      const api = await limitedOnce(() => ({ "retry-after": text, "x-ratelimit-reset": inSeconds(0) }));
      fetch = retailFetch({ wait429Ms: 5000 });
      expect(await (await fetch(api.origin)).text()).toBe("served");
      expect(api.came).toHaveLength(2);
      expect(api.connections).toBe(1);
    },
  );

  test.each(["31536000", "Thu, 01 Jan 2099 12:00:00 GMT"])(
    'with "Retry-After: %s" is not waited for',
    async (text) => {
      const api = await limitedOnce(() => ({ "retry-after": text }));
      fetch = retailFetch({ wait429Ms: 5000 });
      const answer = await fetch(api.origin);
      expect([answer.status, await answer.text()]).toEqual([429, "too many"]);
      expect(await (await fetch(api.origin)).text()).toBe("served"); // and the next call goes out
    },
  );

  test("is not asked again for a caller who left meanwhile", async () => {
    const api = await limitedOnce(() => ({ "retry-after": "3" }));
    fetch = retailFetch({ wait429Ms: 5000 });
    const controller = new AbortController();
    const call = fetch(api.origin, { signal: controller.signal });
    await expect.poll(() => api.came).toHaveLength(1);
    await expect.poll(() => api.underWay).toBe(0);
    controller.abort(new Error("enough"));
    await expect(call).rejects.toThrow("enough");
    expect(api.came).toHaveLength(1);
  });
});

test("a host whose certificate nobody vouches for is told nothing, and others are served", async () => {
  const came: unknown[] = [];
  const stranger = createServer(await newCertificate(["stranger.localhost"]), (request, response) => {
    came.push(request.url);
    response.end();
  }).on("tlsClientError", () => {});
  await new Promise<void>((resolve) => stranger.listen(0, "127.0.0.1", resolve));
  const api = await apiServer((_, response) => response.end("served"));
  fetch = retailFetch({ perHost: 1 });
  for (const round of [1, 2, 3]) {
    const { port } = stranger.address() as AddressInfo;
    const call = fetch(`https://127.0.0.1:${port}/api`, { method: "POST", body: "a secret" });
    const cause = { code: "DEPTH_ZERO_SELF_SIGNED_CERT" };
    await expect(call, `round ${round}`).rejects.toMatchObject({ cause });
    expect(await (await fetch(api.origin)).text()).toBe("served");
  }
  expect(came).toEqual([]);
  await new Promise((resolve) => stranger.close(resolve));
  await api.close();
});
