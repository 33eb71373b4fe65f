import { isRetailPosError, retailPos, settingsFromEnv } from "@retail-pos/core";
import { type LoginEvent, webLogin } from "@retail-pos/login";
import { redisTokens } from "@retail-pos/store-redis";
import { Redis } from "ioredis";
import { headers } from "next/headers";
import { redirect } from "next/navigation";
import { after } from "next/server";
import { remember, storeIn } from "./session";

declare global {
  var retailPosOfThisProcess: ReturnType<typeof make> | undefined;
}

export function pos() {
  globalThis.retailPosOfThisProcess ??= make();
  return globalThis.retailPosOfThisProcess;
}

function make() {
  const { REDIS_URL } = process.env;
  if (!REDIS_URL) throw new TypeError("REDIS_URL: none was given");
  const redis = new Redis(REDIS_URL, { commandTimeout: 5_000, lazyConnect: true });
  const client = retailPos({ ...settingsFromEnv(), ...redisTokens({ client: redis }), background: after });

  // log in with store
  const onLogin = ({ login }: LoginEvent) => remember(login.domainPrefix, "/products");
  return { client, login: webLogin({ client, onLogin }) };
}

/** For pages and actions: leads to the login if no store is logged in, or if only another login helps. */
export async function callApi(path: string, init?: RequestInit) {
  // call the API
  const store = await storeIn({ headers: await headers() });
  if (!store) redirect("/auth/retail-pos");
  try {
    return await pos().client.retailer(store).fetch(path, init);
  } catch (error) {
    if (!isRetailPosError(error) || error.status !== 401) throw error;
    redirect("/auth/retail-pos");
  }
}
