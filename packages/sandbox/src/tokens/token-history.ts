import type { Caller } from "../http/http.js";
import { redact } from "../secrets.js";
import type { Token, TokenEnd } from "./token.js";

/** What happened to the tokens of each store, and who did it: what the console's timeline shows. */
export interface TokenHistory {
  /** With `by` if a caller did it, without if the sandbox was asked to. */
  note(domainPrefix: string, type: TokenEvent["type"], by?: Caller, more?: Partial<TokenEvent>): void;
  /** The answer to this caller's request was cut off by a fault: nobody has the tokens in it. */
  answerLost(by: Caller): void;
  /** Oldest first, the last 100. The end of a token's own time is not among them: nothing happens then. */
  of(domainPrefix: string): readonly TokenEvent[];
  /** The store to which something happened last. */
  latestStore(): string | undefined;
}

export interface TokenEvent {
  /** Counts up from 1. */
  readonly id: number;
  readonly at: number;
  /** `refused`: at the token endpoint. `rejected`: by the API, the first time an access token came after its end. */
  readonly type: "login" | "refused" | "rejected" | TokenEnd;
  /** Absent: the sandbox was asked to do it. */
  readonly by?: Caller | undefined;
  /** The token that was sent; absent if it is not remembered. */
  readonly sent?: Token | undefined;
  /** Names of tokens. */
  readonly issued: readonly string[];
  readonly ended: readonly string[];
  /** The answer was cut off: nobody received what was issued. */
  readonly answerLost?: boolean;
}

const mostEvents = 100;

/** @param application its client secret is shown in no caller's name. */
export function tokenHistory(
  application: { readonly clientSecret: string },
  now: () => number,
): TokenHistory {
  const byStore = new Map<string, TokenEvent[]>();
  const eventOf = new WeakMap<Caller, TokenEvent>();
  let latest: string | undefined;
  let lastId = 0;

  return {
    of: (domainPrefix) => byStore.get(domainPrefix) ?? [],
    latestStore: () => latest,
    note(domainPrefix, type, by, more) {
      lastId += 1;
      const caller = by && shown(by, application.clientSecret);
      const event: TokenEvent = { id: lastId, at: now(), type, by: caller, issued: [], ended: [], ...more };
      byStore.set(domainPrefix, [...(byStore.get(domainPrefix) ?? []), event].slice(-mostEvents));
      if (by) eventOf.set(by, event);
      latest = domainPrefix;
    },
    answerLost(by) {
      const event = eventOf.get(by);
      if (event && event.issued.length > 0) Object.assign(event, { answerLost: true });
    },
  };
}

/** A caller as people may see it: it chose its name itself, and may have put anything there. */
function shown({ name, port }: Caller, clientSecret: string): Caller {
  return { name: redact(name, clientSecret).slice(0, 80), port };
}
