import { type DomainPrefix, isRetailPosError, parseDomainPrefix } from "@retail-pos/core";
import { LoginFailure } from "../failures/login-failure.js";
import { ONE_COOKIE_HOSTS } from "../pending/pending-logins.js";

/** The parameters of a callback with a code (2.3). */
export interface Callback {
  /** Traded for tokens, once. */
  readonly code: string;
  /** Whose token endpoint the code goes to. */
  readonly domainPrefix: DomainPrefix;
  /** Names the login that this callback finishes. */
  readonly state: string;
}

/**
 * The parameters of a callback with an error (RFC 6749, section 4.1.2.1). A stranger may have written them.
 */
export interface ErrorCallback {
  /** The parameter `error`; an empty one is none. */
  readonly error: string;
  /** The parameter `error_description`. */
  readonly description: string | undefined;
  /** Absent only beside `access_denied`. */
  readonly state: string | undefined;
}

/** A query as any framework parses it: texts, and lists or objects for repeated parameters. */
export type Query = Readonly<Record<string, unknown>>;

const PARAMETERS = ["code", "domain_prefix", "state", "scope", "error", "error_description", "error_uri"];
/** The one error that needs no state: it changes nothing. */
export const ACCESS_DENIED = "access_denied";
/** Longer texts are refused as codes. The spec names no length; no service that we know has codes this long. */
const LONGEST_CODE = 4096;

/** The query of an address, repeated parameters as lists. A stranger may repeat one thousands of times. */
export function queryIn(url: URL): Query {
  const query: Record<string, string | string[]> = Object.create(null);
  for (const [name, value] of url.searchParams) {
    const before = query[name];
    if (Array.isArray(before)) before.push(value);
    else query[name] = before === undefined ? value : [before, value];
  }
  return query;
}

/** Whether a query has a parameter, also as a list or an object. */
export function hasParameter(query: Query, name: string): boolean {
  return Object.keys(query).some((key) => key === name || key.startsWith(`${name}[`));
}

/**
 * Checks every parameter of a callback before any of them is used.
 *
 * @throws {LoginFailure} `invalid_callback`, `invalid_domain_prefix` or `state_missing`.
 */
export function readCallback(query: Query): Callback | ErrorCallback {
  for (const name of PARAMETERS) refuseRepeated(query, name);
  const { code, domain_prefix, state, error, error_description } = query as Record<
    string,
    string | undefined
  >;
  if (error) {
    const itsState = error === ACCESS_DENIED ? state : stateOf(state, error);
    return { error: printable(error), description: printable(error_description), state: itsState };
  }
  if (!code || code.length > LONGEST_CODE || !/^[\x20-\x7e]+$/.test(code)) {
    throw new LoginFailure("invalid_callback", "The callback carries no usable code; start the login again");
  }
  return { code, domainPrefix: domainPrefixOf(domain_prefix), state: stateOf(state) };
}

/**
 * The retailer declined. Good without a state, as it changes nothing; the service's own words only if the state is
 * ours.
 */
export function declined({ description }: ErrorCallback, isOurs: boolean): LoginFailure {
  return new LoginFailure(
    ACCESS_DENIED,
    "The retailer declined the access (or the service wants scopes, and the login named none: see the `scope` " +
      `option); nothing was changed${isOurs && description ? `. The service says: ${description}` : ""}`,
  );
}

/** Any other error, with a state of ours. Of what is not ours, the error's name alone is handed on, if it is one. */
export function authorizationFailed({ error }: ErrorCallback): LoginFailure {
  const isScope = error === "invalid_scope"; // RFC 6749, section 4.1.2.1
  const failure = new LoginFailure(
    "authorization_failed",
    `The service answered the login with ${named(error)} instead of a code` +
      (isScope ? ": it does not have a scope that the login named; see the `scope` option" : ""),
  );
  return Object.assign(failure, { answer: { error: isName(error) ? error : "server_error" } });
}

/** A name as RFC 6749 and OpenID Connect give errors is repeated. A stranger may have written anything. */
const isName = (error: string) => /^[a-z][a-z_]{0,39}$/i.test(error);
const named = (error: string) => (isName(error) ? `the error "${error}"` : "an error");

/** Query parsers differ: `a=1&a=2` is a list; `a[]=1` and `a[b]=1` are objects, or names of their own. */
function refuseRepeated(query: Query, name: string): void {
  const value = query[name];
  const isOdd = value !== undefined && typeof value !== "string";
  if (isOdd || Object.keys(query).some((key) => key.startsWith(`${name}[`))) {
    throw new LoginFailure("invalid_callback", `The callback's ${name} is repeated or no plain text`);
  }
}

function stateOf(state: string | undefined, error?: string): string {
  if (state) return state;
  const brings = error === undefined ? "" : ` It brings ${named(error)}.`;
  throw new LoginFailure(
    "state_missing",
    `The callback carries no state, so it does not belong to a login that was started here.${brings} ${ONE_COOKIE_HOSTS}`,
  );
}

function domainPrefixOf(text: string | undefined): DomainPrefix {
  try {
    return parseDomainPrefix(text);
  } catch (error) {
    if (!isRetailPosError(error)) throw error;
    throw new LoginFailure(
      "invalid_domain_prefix",
      text
        ? "The callback's domain_prefix is not one DNS label; nothing was sent to it"
        : "The callback's domain_prefix is missing (something may have changed the address on the way, `&` to `&amp;` " +
            "for example); nothing was sent",
    );
  }
}

/** A stranger's text, shortened and cleaned for a log line. */
function printable<Text extends string | undefined>(text: Text): Text {
  return text?.replace(/[^\x20-\x7e]+/g, " ").slice(0, 200) as Text;
}
