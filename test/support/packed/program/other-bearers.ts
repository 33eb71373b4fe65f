import assert from "node:assert/strict";
import { retailPos } from "@retail-pos/core";
import { bearer as fastifyBearer } from "@retail-pos/fastify-bearer";
import { bearer as honoBearer } from "@retail-pos/hono-bearer";
import { startSandbox } from "@retail-pos/sandbox";
import Fastify from "fastify";
import { Hono } from "hono";

const retailer = "harbour-coffee";

/** A call each on Fastify and Hono, and what their own error handlers answer to somebody without a login. */
export async function otherBearers(): Promise<void> {
  const sandbox = await startSandbox();
  const { authUrl, baseUrl, application } = sandbox;
  const client = retailPos({ authUrl, baseUrl, ...application });
  const code = sandbox.approve(retailer).searchParams.get("code") ?? "";
  await client.connect(await client.exchange(retailer, code));

  const fastify = Fastify();
  const hook = fastifyBearer({ client, retailer: ({ headers }) => headers["x-store"]?.toString() });
  fastify.get("/", { preHandler: hook }, async (request) =>
    (await request.retailPos.fetch("api/products")).text(),
  );
  const onFastify = (headers: Record<string, string>) => fastify.inject({ url: "/", headers });
  assert.match((await onFastify({ "x-store": retailer })).body, /House espresso/);
  assert.equal((await onFastify({})).statusCode, 401);

  const hono = new Hono();
  hono.use(honoBearer({ client, retailer: (c) => c.req.header("x-store") }));
  hono.get("/", async (c) => c.body(await (await c.var.retailPos.fetch("api/products")).text()));
  const onHono = (headers: Record<string, string>) => hono.request("/", { headers });
  assert.match(await (await onHono({ "x-store": retailer })).text(), /House espresso/);
  assert.equal((await onHono({})).status, 401);

  await fastify.close();
  await sandbox.close();
}
