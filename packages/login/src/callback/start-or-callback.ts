import { hasParameter, type Query } from "./callback-query.js";

/** A request, as far as it tells whether it starts a login or is the service's redirect back. */
export interface Arrival {
  readonly query: Query;
  /** The path of the address that the browser sent; `undefined` if it cannot be read. */
  readonly path: string | undefined;
  /** The `redirect_uri` of a login that starts with this request. */
  readonly redirectUri: string;
  /** Whether a login with this state came along with the request. */
  isKnown(state: string): boolean | Promise<boolean>;
}

/**
 * Whether a request is the service's redirect back to us and not the start of a login. One route may serve both, and a
 * start elsewhere may have a query of its own. On the callback's own path any query is a callback's: a damaged one that
 * started a new login would come back for ever. Elsewhere (a proxy may have changed the path) the state of a login
 * under way makes it one.
 */
export async function isCallback({ query, path, redirectUri, isKnown }: Arrival): Promise<boolean> {
  const { state, error } = query;
  if (hasParameter(query, "code") || (hasParameter(query, "error") && error !== "")) return true;
  if (hasParameter(query, "state") && hasParameter(query, "domain_prefix")) return true;
  if (Object.keys(query).length > 0 && isCallbackPath(path, redirectUri)) return true;
  return typeof state === "string" && state !== "" && (await isKnown(state));
}

/**
 * Whether a path is the callback's. A proxy may have cut off its beginning; routers take other capitals, encoded
 * letters and a slash at the end for the same.
 */
export function isCallbackPath(path: string | undefined, redirectUri: string): boolean {
  const { here, whole } = pathsOf(path, redirectUri);
  return here === whole || (here !== "" && whole.endsWith(here));
}

/** Whether a path lies below the callback's: one mount serves both, and strangers ask for anything there. */
export function isBelowCallback(path: string | undefined, redirectUri: string): boolean {
  const { here, whole } = pathsOf(path, redirectUri);
  return here.startsWith(`${whole}/`);
}

/** Both paths in one spelling. A redirect URI that is relative is resolved against the request. */
function pathsOf(path = "", redirectUri: string) {
  const base = `http://localhost/${path.replace(/^\/+/, "")}`;
  const isAddress = redirectUri !== "" && URL.canParse(redirectUri, base);
  const whole = isAddress ? new URL(redirectUri, base).pathname : "";
  return { here: plainPath(path), whole: plainPath(whole) };
}

function plainPath(path: string): string {
  return decoded(path)
    .toLowerCase()
    .replace(/(?<!\/)\/+$/, "");
}

function decoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path; // "%" alone
  }
}
