import type { Answer } from "./browser-get.js";

/** The reason for a failure, as an application's answer tells it. */
export type ToldFailure =
  | "sealed_elsewhere"
  | "state_unknown"
  | "invalid_callback"
  | "code_refused"
  | "client_refused"
  | "rate_limited"
  | "retailer_not_accepted"
  | "token_endpoint_failed"
  | "store_failed"
  | "no_session"
  | "no_strategy"
  | "callback_not_https";

/**
 * Codes and sentences of the strategy, of `@retail-pos/login` and of core, and of what commonly stands around them.
 * Applications in development, and those that show `info.code` or `info.message`, have them in their answers, and
 * `failureWords` has its sentences for people who log in.
 */
const SIGNS: Readonly<Record<ToldFailure, RegExp>> = {
  sealed_elsewhere: /The cookie of this login cannot be opened|started here and can no longer be read here/,
  state_unknown:
    /\bstate_(?:unknown|missing|expired)\b|No login is under way in this (?:session|browser)|The browser sent no cookie of a session back|The state is none of the logins under way|We could not match this login|is not part of a login that was started here|This login took too long/,
  invalid_callback: /\binvalid_callback\b|The answer of the service was damaged/,
  code_refused: /\bcode_refused\b|The service refused the code|The service did not take this login/,
  client_refused:
    /\bclient_refused\b|The service refuses this application|The service does not let this site in at the moment/,
  rate_limited: /\brate_limited\b|; next request at \d|takes only so many requests at a time/,
  retailer_not_accepted:
    /\bretailer_not_accepted\b|does not accept logins of this retailer|This store cannot be connected here/,
  token_endpoint_failed:
    /\b(?:token_endpoint_failed|bad_token_response)\b|The token endpoint of retailer .{0,80}(?:answered|could not be used)|We could not reach your store/,
  store_failed:
    /\bstore_failed\b|The (?:token )?(?:store|lock) (?:could not|did not answer)|\b(?:Redis|PostgreSQL|SQLite) could not\b|We cannot get at our own records/,
  no_session:
    /Login with store needs a session|Login sessions require session support|secret option required for sessions/,
  no_strategy: /Unknown authentication strategy/,
  callback_not_https: /callbackURL[^<]{0,120}must be https/,
};

/** How applications without our packages say that they do not know a state. */
const STATE_IN_OTHER_WORDS =
  /\b(?:invalid|unknown|wrong|bad|missing|expired|mismatched|unexpected)[ _-](?:oauth[ _-])?state\b|\bstate\b[^.<]{0,40}\b(?:mismatch|unknown|invalid|expired|missing|(?:is|was|does) not (?:match|known|valid|found))/i;

/** Undefined if the answer does not say. */
export function toldFailure({ text, location }: Answer): ToldFailure | undefined {
  const words = `${text} ${location?.search ?? ""}`;
  const told = (Object.keys(SIGNS) as ToldFailure[]).find((failure) => SIGNS[failure].test(words));
  if (told !== undefined) return told;
  // A page that speaks of the code as well is one page for both.
  return STATE_IN_OTHER_WORDS.test(words) && !/\bcode\b/i.test(words) ? "state_unknown" : undefined;
}
