import type { Caller } from "../http/http.js";
import { fingerprintOf, newSecret } from "../secrets.js";
import { hasEnded, type Login, type Token, type TokenEnd } from "./token.js";
import type { TokenHistory } from "./token-history.js";

/** `"sometimes"`: every other time, starting with the first. */
export const rotations = ["always", "never", "sometimes"] as const;

/** Whether a refresh answers with a new refresh token (R4). */
export type Rotation = (typeof rotations)[number];

/**
 * The tokens of every store, and every change of them, which goes to the history at once. Logging in again leaves
 * earlier logins alone: the spec does not say otherwise.
 */
export interface IssuedTokens {
  /** 4.2: a login's tokens. */
  logIn(domainPrefix: string, scopes: readonly string[], by: Caller): NewTokens;
  /** 4.3. Undefined: this refresh token is unknown here, spent, or refused. */
  renew(domainPrefix: string, refreshToken: string, by: Caller): NewTokens | undefined;
  /** Ends the live ones among these tokens; answers how many. Without `by`, the sandbox was asked to. */
  end(domainPrefix: string, end: TokenEnd, which: (token: Token) => boolean, by?: Caller): number;
  /** The API was called with this bearer. */
  called(domainPrefix: string, bearer: string, by: Caller): void;
  /** The live token with this value. */
  find(domainPrefix: string, kind: Token["kind"], value: string): Token | undefined;
  live(domainPrefix: string): Token[];
  of(domainPrefix: string): StoreTokens;
}

export interface StoreTokens {
  /** In the order of issue: those that are live, and of each kind as many that have ended as make it 50. */
  readonly tokens: readonly Token[];
  /** The client has the tokens of this one; earlier ones may live on. */
  readonly newest?: Login;
  /** When a request came last that carried one of the tokens, and was served. */
  readonly usedAt?: number;
}

/** The tokens of one token response. The sandbox does not keep their values. */
export interface NewTokens {
  readonly accessToken: string;
  readonly expiresAt: number;
  readonly refreshToken?: string;
  readonly login: Login;
}

/** Of each kind and store. A spent refresh token that is older is no longer recognised. */
const most = 50;

type Kept = { -readonly [name in keyof StoreTokens]: StoreTokens[name] } & {
  readonly tokens: Token[];
  readonly count: Record<Token["kind"], number>;
};

/** @param settings `lifetimeMs` is that of an access token. */
export function issuedTokens(
  settings: { readonly rotation: Rotation; readonly lifetimeMs: number },
  history: TokenHistory,
  now: () => number,
): IssuedTokens {
  const byStore = new Map<string, Kept>();
  const isLive = (token: Token) => !hasEnded(token, now());
  const live = (domainPrefix: string) => of(domainPrefix).tokens.filter(isLive);

  function of(domainPrefix: string): Kept {
    const store = byStore.get(domainPrefix) ?? { tokens: [], count: { access: 0, refresh: 0 } };
    byStore.set(domainPrefix, store);
    return store;
  }

  function issueOne({ tokens, count }: Kept, login: Login, kind: Token["kind"]) {
    const { value, kept } = newSecret(kind);
    count[kind] += 1;
    const name = `${kind === "access" ? "A" : "R"}${count[kind]}`;
    const expiresAt = kind === "access" ? now() + settings.lifetimeMs : Number.POSITIVE_INFINITY;
    login[kind] = { ...kept, kind, name, login, issuedAt: now(), expiresAt };
    tokens.push(login[kind]);
    const ofKind = tokens.filter((token) => token.kind === kind);
    const oldest = ofKind.length > most && ofKind.find((token) => !isLive(token));
    if (oldest) tokens.splice(tokens.indexOf(oldest), 1);
    return { value, name, expiresAt };
  }

  function issue(store: Kept, login: Login, isRotated: boolean): { issued: string[]; answer: NewTokens } {
    const refresh = isRotated && issueOne(store, login, "refresh");
    const { value, name, expiresAt } = issueOne(store, login, "access");
    store.usedAt = now();
    const answer = { accessToken: value, expiresAt, login };
    if (!refresh) return { issued: [name], answer };
    return { issued: [refresh.name, name], answer: { ...answer, refreshToken: refresh.value } };
  }

  /** Answers the names. */
  function endAll(tokens: readonly Token[], end: TokenEnd): string[] {
    for (const token of tokens) Object.assign(token, { end, expiresAt: Math.min(token.expiresAt, now()) });
    return tokens.map(({ name }) => name);
  }

  return {
    of,
    live,
    find(domainPrefix, kind, value) {
      const found = sentTo(of(domainPrefix), value);
      return found?.kind === kind && isLive(found) ? found : undefined;
    },
    logIn(domainPrefix, scopes, by) {
      const store = of(domainPrefix);
      store.newest = { scopes, renewals: 0 };
      const { issued, answer } = issue(store, store.newest, true);
      history.note(domainPrefix, "login", by, { issued });
      return answer;
    },
    renew(domainPrefix, refreshToken, by) {
      const store = of(domainPrefix);
      const sent = sentTo(store, refreshToken);
      if (sent?.kind !== "refresh" || !isLive(sent)) {
        history.note(domainPrefix, "refused", by, { sent });
        return undefined;
      }
      const { login } = sent;
      login.renewals += 1;
      const isRotated = rotates(settings.rotation, login.renewals);
      // The spec is silent; services of this kind end the access tokens issued with the spent refresh token, so that
      // a client has to cope with a 401 for a token that it believes alive.
      const spent = isRotated ? live(domainPrefix).filter((token) => token.login === login) : [];
      const { issued, answer } = issue(store, login, isRotated);
      if (isRotated) Object.assign(sent, { replacedBy: issued[0] });
      history.note(domainPrefix, "renewed", by, { sent, issued, ended: endAll(spent, "renewed") });
      return answer;
    },
    end(domainPrefix, end, which, by) {
      const ended = endAll(live(domainPrefix).filter(which), end);
      if (ended.length > 0) history.note(domainPrefix, end, by, { ended });
      return ended.length;
    },
    called(domainPrefix, bearer, by) {
      const store = of(domainPrefix);
      const sent = sentTo(store, bearer);
      if (sent?.kind !== "access") return;
      if (isLive(sent)) store.usedAt = now();
      // Once for each token: a client that goes on sending it would push everything else out.
      else if (!history.of(domainPrefix).some((event) => event.type === "rejected" && event.sent === sent))
        history.note(domainPrefix, "rejected", by, { sent });
    },
  };
}

/** The token with this value, if it is remembered. */
function sentTo({ tokens }: StoreTokens, value: string): Token | undefined {
  const fingerprint = fingerprintOf(value);
  return tokens.find((token) => token.fingerprint === fingerprint);
}

/** R4: the renewals are counted from 1. */
function rotates(rotation: Rotation, renewals: number): boolean {
  return rotation === "always" || (rotation === "sometimes" && renewals % 2 === 1);
}
