// A process of somebody who has the client secret, a key of the sealed store, and copies of the database.
import { sealedStore } from "@retail-pos/sealed-store";
import { sqliteTokens } from "@retail-pos/store-sqlite";
import Database from "libsql";

const { KEYS, BASE_URL, CLIENT_ID, CLIENT_SECRET } = process.env;
const baseUrlOf = (retailer) => BASE_URL.replace("{domain_prefix}", retailer);
const loot = new Map();

const deeds = {
  /** Opens the records of a copy; answers whose tokens it has got. */
  async open(file) {
    const { store } = sqliteTokens({ database: new Database(file) });
    const { retailers } = await store.list({ limit: 100 });
    const sealed = sealedStore(store, { keys: JSON.parse(KEYS) });
    const sets = await Promise.all(
      retailers.map(({ domainPrefix }) => sealed.load(domainPrefix).catch(() => undefined)),
    );
    const opened = sets.filter(Boolean);
    for (const { domainPrefix, access, refreshToken } of opened)
      loot.set(domainPrefix, { access: access.value, refresh: refreshToken });
    return opened.map(({ domainPrefix }) => domainPrefix).sort();
  },
  /** Calls the API with the access token that it has; answers the status. */
  async call(retailer) {
    const headers = { Authorization: `Bearer ${loot.get(retailer).access}` };
    return (await fetch(`${baseUrlOf(retailer)}/api/products`, { headers })).status;
  },
  /** Renews the tokens that it has; answers what the service says. */
  async renew(retailer) {
    const body = new URLSearchParams({
      grant_type: "refresh_token",
      client_id: CLIENT_ID,
      client_secret: CLIENT_SECRET,
      refresh_token: loot.get(retailer).refresh,
    });
    const answer = await fetch(`${baseUrlOf(retailer)}/api/1.0/token`, { method: "POST", body });
    const { error, access_token, refresh_token } = await answer.json();
    if (error) return error;
    loot.set(retailer, { access: access_token, refresh: refresh_token });
    return "renewed";
  },
};

process.on("message", async ([deed, of]) => process.send(await deeds[deed](of)));
process.on("disconnect", () => process.exit());
