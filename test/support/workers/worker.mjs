// A worker for the tests: a client for each store, and routes to see how its tokens are.

import * as workers from "cloudflare:workers";
import { AsyncLocalStorage } from "node:async_hooks";
import { memoryStore, retailPos } from "@retail-pos/core";
import settings from "settings.json";

const requests = new AsyncLocalStorage();
const backgrounds = {
  none: undefined,
  request: (work) => requests.getStore().waitUntil(work),
  module: (work) => workers.waitUntil(work),
};

/** Made while the module is loaded, where a worker may neither wait nor draw random numbers. */
const shops = new Map([["made-at-the-start", shop("none", 10_000)]]);

function shop(background, timeoutMs) {
  const time = { aheadMs: 0, callers: 0 };
  const store = memoryStore();
  const clock = () => Date.now() + time.aheadMs;
  const pos = retailPos({ ...settings, store, clock, timeoutMs, background: backgrounds[background] });
  return { pos, store, time };
}

const routes = {
  async login({ pos }, name, query) {
    await pos.connect(await pos.exchange(name, query.get("code")));
    return "";
  },
  async clock({ time }, _, query) {
    time.aheadMs = Number(query.get("ahead"));
    return "";
  },
  async token({ pos, time }, name) {
    time.callers += 1;
    return (await pos.tokens(name).token()).value;
  },
  callers: ({ time }) => String(time.callers),
  stored: async ({ store }, name) => (await store.load(name)).access.value,
  products: async ({ pos }, name) => (await pos.retailer(name).fetch("api/products")).text(),
};

async function answer(url) {
  const [, name, route] = url.pathname.split("/");
  const query = url.searchParams;
  if (!shops.has(name)) shops.set(name, shop(query.get("background"), Number(query.get("timeoutMs"))));
  try {
    return new Response(await routes[route](shops.get(name), name, query));
  } catch (error) {
    return new Response(error.code ?? String(error), { status: error.status ?? 500 });
  }
}

export default {
  fetch: (request, _, context) => requests.run(context, () => answer(new URL(request.url))),
};
