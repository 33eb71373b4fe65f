import type { Caller } from "../http/http.js";
import { redact } from "../secrets.js";
import type { IssuedTokens } from "./grant.js";
import type { Grants } from "./grants.js";
import {
  hasEnded,
  type TokenEnd,
  type TokenRecord,
  type TokenRecords,
  tokenRecords,
} from "./token-records.js";

/** What happened to the tokens of each store, and who did it: what the console's timeline shows. */
export interface TokenHistory {
  loggedIn(domainPrefix: string, tokens: IssuedTokens, by: Caller): void;
  renewed(domainPrefix: string, sent: string, tokens: IssuedTokens, by: Caller): void;
  /** A refresh token was sent that the store does not accept. */
  refused(domainPrefix: string, sent: string, by: Caller): void;
  /** The API was called with this bearer. */
  called(domainPrefix: string, bearer: string, by: Caller): void;
  /** To be called after tokens were ended: with `by` if a caller caused it, without if the sandbox was asked to. */
  ended(domainPrefix: string, type: Exclude<TokenEnd, "renewed">, by?: Caller): void;
  /** The answer to this caller's request was cut off by a fault: nobody has the tokens in it. */
  answerLost(by: Caller): void;
  /** Undefined: no token of this store was ever issued or sent. */
  of(domainPrefix: string): StoreHistory | undefined;
  /** The store to which something happened last. */
  latestStore(): string | undefined;
}

export interface StoreHistory {
  /** Oldest first, the last 50 of each kind. */
  readonly tokens: readonly TokenRecord[];
  /** Oldest first, the last 100. The end of a token's own time is not among them: nothing happens then. */
  readonly events: readonly TokenEvent[];
  /** When a request came last that carried one of the tokens, and was served. */
  readonly usedAt?: number;
}

export interface TokenEvent {
  /** Counts up from 1 for each store. */
  readonly id: number;
  readonly at: number;
  /** `refused`: at the token endpoint. `rejected`: by the API, the first time an access token came after its end. */
  readonly type: "login" | "refused" | "rejected" | TokenEnd;
  /** Absent: the sandbox was asked to do it. */
  readonly by?: Caller;
  /** The token that was sent; absent if it is not remembered. */
  readonly sent?: TokenRecord;
  /** Names of tokens. */
  readonly issued: readonly string[];
  readonly ended: readonly string[];
  /** The answer was cut off: nobody received what was issued. */
  readonly answerLost?: boolean;
}

const mostEvents = 100;

interface Remembered {
  readonly records: TokenRecords;
  readonly tokens: readonly TokenRecord[];
  readonly events: TokenEvent[];
  lastId: number;
  usedAt?: number;
}

/** `grants` is asked which tokens a change has ended, so that the rules for that stand in one place. */
export function tokenHistory(grants: Grants, now: () => number, clientSecret: () => string): TokenHistory {
  const byStore = new Map<string, Remembered>();
  const eventOf = new WeakMap<Caller, TokenEvent>();
  let latest: string | undefined;

  function storeOf(domainPrefix: string): Remembered {
    const known = byStore.get(domainPrefix);
    if (known) return known;
    const records = tokenRecords(now);
    const store: Remembered = { records, tokens: records.all, events: [], lastId: 0 };
    byStore.set(domainPrefix, store);
    return store;
  }

  function note(
    domainPrefix: string,
    type: TokenEvent["type"],
    by?: Caller,
    more?: Partial<TokenEvent>,
  ): void {
    const store = storeOf(domainPrefix);
    store.lastId += 1;
    const caller = by && { by: shown(by, clientSecret()) };
    const event = { id: store.lastId, at: now(), type, issued: [], ended: [], ...caller, ...more };
    store.events.push(event);
    if (store.events.length > mostEvents) store.events.shift();
    if (by) eventOf.set(by, event);
    latest = domainPrefix;
  }

  /** Answers the names, the refresh token's first if there is one. */
  function issue({ records }: Remembered, tokens: IssuedTokens): string[] {
    const { accessToken, refreshToken, expiresAt } = tokens;
    const refresh = refreshToken === undefined ? [] : [records.add("refresh", refreshToken)];
    return [...refresh, records.add("access", accessToken, expiresAt)];
  }

  return {
    of: (domainPrefix) => byStore.get(domainPrefix),
    latestStore: () => latest,
    loggedIn(domainPrefix, tokens, by) {
      const store = storeOf(domainPrefix);
      store.usedAt = now();
      note(domainPrefix, "login", by, { issued: issue(store, tokens) });
    },
    renewed(domainPrefix, value, tokens, by) {
      const store = storeOf(domainPrefix);
      store.usedAt = now();
      const sent = store.records.find(value);
      const issued = issue(store, tokens);
      const replacedBy = tokens.refreshToken === undefined ? undefined : issued[0];
      const ended = store.records.endAllBut(accepted(grants, domainPrefix, now()), "renewed", replacedBy);
      note(domainPrefix, "renewed", by, { ...(sent && { sent }), issued, ended });
    },
    refused(domainPrefix, value, by) {
      const sent = storeOf(domainPrefix).records.find(value);
      note(domainPrefix, "refused", by, sent && { sent });
    },
    called(domainPrefix, bearer, by) {
      const store = byStore.get(domainPrefix);
      const sent = store?.records.find(bearer);
      if (!store || sent?.kind !== "access") return;
      if (!hasEnded(sent, now())) store.usedAt = now();
      // Once for each token: a client that goes on sending it would push everything else out.
      else if (!store.events.some((event) => event.type === "rejected" && event.sent === sent)) {
        note(domainPrefix, "rejected", by, { sent });
      }
    },
    ended(domainPrefix, type, by) {
      const ended = byStore.get(domainPrefix)?.records.endAllBut(accepted(grants, domainPrefix, now()), type);
      if (ended && ended.length > 0) note(domainPrefix, type, by, { ended });
    },
    answerLost(by) {
      const event = eventOf.get(by);
      if (event && event.issued.length > 0) Object.assign(event, { answerLost: true });
    },
  };
}

/** The fingerprints of the tokens that are accepted now. */
function accepted(grants: Grants, domainPrefix: string, now: number): Set<string> {
  const tokens = grants
    .of(domainPrefix)
    .flatMap(({ refusedAt, refresh, access }) => [
      ...(refusedAt === undefined ? [refresh] : []),
      ...access.filter(({ expiresAt }) => now < expiresAt),
    ]);
  return new Set(tokens.map(({ fingerprint }) => fingerprint));
}

/** A caller as people may see it: it chose its name itself, and may have put anything there. */
function shown({ name, port }: Caller, clientSecret: string): Caller {
  return { name: redact(name, clientSecret).slice(0, 80), port };
}
