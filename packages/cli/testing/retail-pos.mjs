// A module for --client, as an application has one: its stores are named in the environment, its keys too.
import { retailPos } from "@retail-pos/core";
import { sealedStore } from "@retail-pos/sealed-store";
import { engines } from "../../../test/support/engines.mjs";

const { FROM, TO, KEYS, OPTIONS = "{}" } = process.env;

/**
 * "redis my_namespace sealed read": the engine, what its keys or tables begin with, whether tokens are sealed, and what
 * is done about plain ones.
 */
async function storeOf(text) {
  const [engine, namespace, sealed, plain] = text.split(" ");
  const tokens = await engines[engine](namespace);
  if (sealed !== "sealed") return tokens;
  const keys = KEYS.split(" ").map((key) => ({
    id: key.split("=")[0],
    secret: key.slice(key.indexOf("=") + 1),
  }));
  return { ...tokens, store: sealedStore(tokens.store, { keys, plain }) };
}

const tokens = await storeOf(FROM);
const settings = {
  baseUrl: "http://localhost:9/{domain_prefix}",
  clientId: "application",
  clientSecret: "canary-secret",
};
export const { store } = tokens;
export const from = store;
export const to = TO === undefined ? undefined : (await storeOf(TO)).store;
export const client = retailPos({ ...settings, ...JSON.parse(OPTIONS), store, lock: tokens.lock });
