import assert from "node:assert/strict";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { type RetailPos, retailPos } from "@retail-pos/core";
import { startSandbox, virtualClock } from "@retail-pos/sandbox";
import { expressApp } from "./express-app.js";
import { koaApp } from "./koa-app.js";

const retailer = "harbour-coffee";
const lifetimeMs = 600_000;

export const expressLogin = (): Promise<void> => login((pos) => expressApp(pos));
export const koaLogin = (): Promise<void> => login((pos) => koaApp(pos).callback());

/** Log in, call, let the token expire, call again. */
async function login(appOf: (pos: RetailPos) => RequestListener): Promise<void> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const clock = virtualClock();
  const sandbox = await startSandbox({ clock, lifetimeMs, redirectUri: `${origin}/callback` });
  const { authUrl, baseUrl, application } = sandbox;
  server.on("request", appOf(retailPos({ authUrl, baseUrl, ...application, clock, cacheMs: 0 })));

  const visitor = sandbox.visitor(retailer);
  const callback = await visitor.fetch("/login");
  assert.deepEqual(await callback.json(), {
    user: { domainPrefix: retailer },
    state: { next: "/products" },
  });
  assert.match(await (await visitor.fetch("/products")).text(), /House espresso/);
  clock.advance(lifetimeMs);
  assert.match(await (await visitor.fetch("/products")).text(), /House espresso/);
  assert.equal(sandbox.tokenRequests(retailer).length, 2);

  server.close();
  server.closeAllConnections();
  await sandbox.close();
}
