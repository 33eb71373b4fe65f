import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type ApiServer, apiServer } from "../testing/api-server.js";

const built = new URL("../dist/index.js", import.meta.url).href;
/** Far below the minute for which a connection is kept. */
const PATIENCE_MS = 30_000;

let api: ApiServer;

beforeEach(async () => {
  api = await apiServer((request, response) => {
    if (request.url === "/used-up") {
      response.setHeader("x-ratelimit-remaining", "0");
      response.setHeader("x-ratelimit-reset", String(Math.floor(Date.now() / 1000) + 3000));
    }
    response.end("ok");
  });
});
afterEach(() => api.close());

test.for([
  { name: "a connection that is kept", path: "/products" },
  { name: "a rate limit that is remembered for an hour", path: "/used-up" },
])("$name keeps no process alive, though nobody calls close()", async ({ path }) => {
  const program = `
    import { retailFetch } from ${JSON.stringify(built)};
    const fetch = retailFetch({ wait429Ms: 60_000 });
    console.log(await (await fetch(${JSON.stringify(api.origin + path)})).text());
  `;
  const args = ["--input-type=module", "--eval", program];
  const { stdout, stderr } = await promisify(execFile)(process.execPath, args, { timeout: PATIENCE_MS });
  expect({ stdout, stderr }).toEqual({ stdout: "ok\n", stderr: "" });
});
