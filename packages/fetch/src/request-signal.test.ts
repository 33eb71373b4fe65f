import type { ServerResponse } from "node:http";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { personalToken } from "@retail-pos/core";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type ApiServer, apiServer } from "../testing/api-server.js";
import { type RetailFetch, retailFetch } from "./index.js";

// A Request follows the signal it was made with only while somebody holds it. The caller may hold the signal alone.

let api: ApiServer;
let fetch: RetailFetch;
let held: ServerResponse | undefined;

beforeEach(async () => {
  held = undefined;
  api = await apiServer((request, response) => {
    if (request.url === "/held") held = response;
    else if (request.url?.endsWith("/endless")) response.write("some");
    else response.end("ok");
  });
  fetch = retailFetch({ perHost: 1 });
});
afterEach(async () => {
  await api.close();
  await fetch.close();
});

const text = async (answered: Promise<Response>) => (await answered).text();
const failure = (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    () => "it was served",
    (error) => error,
  );

/** Collects everything that nobody holds. */
function collector(): () => Promise<void> {
  setFlagsFromString("--expose-gc");
  const gc = runInNewContext("gc") as () => void;
  return async () => {
    for (let turn = 0; turn < 10; turn += 1) {
      await new Promise((resolve) => setTimeout(resolve, 5));
      gc();
    }
  };
}

test("a Request that nobody but the queue holds leaves it when its signal is aborted", async () => {
  const collect = collector();
  const first = text(fetch(`${api.origin}/held`)); // has the one connection
  await expect.poll(() => held).toBeDefined();
  const controller = new AbortController();
  const waiting = failure(fetch(new Request(api.origin, { signal: controller.signal })));
  await collect();
  controller.abort(new Error("enough"));
  expect(await waiting).toMatchObject({ message: "enough" });
  held?.end("held");
  await first;
  expect(api.came).toEqual(["/held"]);
});

test("a Request behind core's client keeps its signal while the body is read", async () => {
  const collect = collector();
  const client = personalToken({
    baseUrl: `${api.origin}/{domain_prefix}`,
    domainPrefix: "shop",
    token: "t",
    fetch,
  });
  const controller = new AbortController();
  const reading = failure(
    client
      .fetch(new Request(`${client.baseUrl}/endless`, { signal: controller.signal }))
      .then((it) => it.text()),
  );
  await expect.poll(() => api.underWay).toBe(1);
  await collect();
  controller.abort(new Error("enough"));
  expect(await reading).toMatchObject({ message: "enough" });
  expect(await text(fetch(api.origin))).toBe("ok");
});
