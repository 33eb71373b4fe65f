// What one retailer takes of the heap: so many logins, and what is left of them after a collection.
import { randomBytes } from "node:crypto";
import { memoryStore, retailPos } from "@retail-pos/core";
import { answering } from "../../lib/process.mjs";
import { prefixOf } from "./retailers.mjs";
import { options } from "./service.mjs";

const RETAILERS = 50_000;

/** Each keeps one login, and returns what has to stay reachable. */
const keepers = {
  /** Nothing but the four texts, and one Map entry. */
  texts() {
    const entries = new Map();
    const [refreshTokens, versions] = [[], []];
    return {
      kept: [entries, refreshTokens, versions],
      keep({ domainPrefix, access, refreshToken, version }) {
        entries.set(domainPrefix, access.value);
        refreshTokens.push(refreshToken);
        versions.push(version.toLowerCase()); // one piece, whatever it was made of
      },
    };
  },
  /** As a hand-written store keeps them: an object in a Map. */
  object() {
    const entries = new Map();
    return {
      kept: entries,
      keep({ domainPrefix, access, refreshToken }) {
        entries.set(domainPrefix, { accessToken: access.value, expiresAt: access.expiresAt, refreshToken });
      },
    };
  },
  ours() {
    const store = memoryStore();
    return { kept: store, keep: (set) => store.save(set) };
  },
  processCopy,
};

/** What a process holds of a retailer that it has been asked for: its copy of the set, and what it knows besides. */
function processCopy() {
  const onTheWire = new Map();
  const load = async (domainPrefix) => JSON.parse(onTheWire.get(domainPrefix));
  const pos = retailPos({ ...options, store: { ...memoryStore(), load } });
  return {
    kept: pos,
    async keep(set) {
      onTheWire.set(set.domainPrefix, JSON.stringify(set));
      await pos.tokens(set.domainPrefix).token();
      onTheWire.delete(set.domainPrefix);
    },
  };
}

answering(async (name) => {
  const pos = retailPos({ ...options, fetch: async () => Response.json(tokenResponse()) });
  const { kept, keep } = keepers[name]();
  const before = heapUsed();
  for (let n = 0; n < RETAILERS; n += 1) await keep(await pos.exchange(prefixOf(n), "code"));
  const bytes = (heapUsed() - before) / RETAILERS;
  return { bytes, isKept: kept !== undefined };
});

function tokenResponse() {
  const secret = () => randomBytes(32).toString("hex");
  return { access_token: secret(), refresh_token: secret(), expires_in: 86_400 };
}

function heapUsed() {
  globalThis.gc();
  globalThis.gc();
  return process.memoryUsage().heapUsed;
}
