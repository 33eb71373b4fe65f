import type { Request } from "express";
import {
  type Arrival,
  hasParameter,
  isBelowCallback,
  isCallback,
  isCallbackPath,
  LoginFailure,
  type Query,
  queryIn,
} from "../../../login/src/parts.js";

/**
 * The query of the address that the browser sent. Query parsers make numbers of digits, and lose the zeros before
 * them; routers and middleware add parameters. What the framework has parsed counts only if there is no address.
 */
function queryOf(req: Request): Query {
  const address = addressOf(req);
  return address ? queryIn(address) : (req.query ?? {});
}

function addressOf(req: Request): URL | undefined {
  const target: unknown = req.originalUrl ?? req.url;
  if (typeof target !== "string") return undefined;
  const text = target.startsWith("/") ? `http://localhost${target}` : target; // "//" begins a path here, and no host
  return URL.canParse(text) ? new URL(text) : undefined;
}

/**
 * Checks that the callback came as a GET, or HEAD would spend its code, and a form could send one.
 *
 * @throws {LoginFailure} `invalid_callback`.
 */
export function callbackQueryOf(req: Request): Query {
  if (req.method === undefined || req.method === "GET") return queryOf(req);
  throw new LoginFailure(
    "invalid_callback",
    `The callback is a GET request, not ${req.method}; the code was not used`,
  );
}

/** Callback URLs whose path is remembered. An application may have one for each of its tenants. */
const MOST_PATHS = 1_000;

/**
 * Tells the starts of one strategy's logins from their callbacks. A visit of the callback's own path without any
 * parameter may be the start of a login, if one route serves both. If logins with this callback were seen to start
 * elsewhere, it is a callback that lost its query on the way: a new login would come back the same, for ever. But not
 * if the browser says that the visit comes from a page of the application, or from nowhere: a stranger may have spelled
 * an address so that it looks like a start elsewhere.
 */
export class Routes {
  readonly #withStartsElsewhere = new Set<string>();

  /**
   * Whether a request is a callback.
   *
   * @param redirectUri absolute, or relative to the request.
   * @param isKnown whether a login with this state came along with the request.
   */
  async isCallback(req: Request, redirectUri: string, isKnown: Arrival["isKnown"]): Promise<boolean> {
    const [query, path] = [queryOf(req), addressOf(req)?.pathname];
    if (await isCallback({ query, path, redirectUri, isKnown })) return true;
    const isOwnVisit = ["same-origin", "none"].includes(String(req.headers?.["sec-fetch-site"]));
    const isDamaged = !isOwnVisit && this.#withStartsElsewhere.has(redirectUri);
    return isCallbackPath(path, redirectUri) && (isFormPost(req) || isDamaged);
  }

  /** Notes where a login was started. */
  started(req: Request, redirectUri: string): void {
    const sent = String(req.originalUrl ?? req.url).replace(/[?#].*/s, "");
    const isGuard = req.baseUrl === "" && !req.route; // Express runs it before every route, for starts anywhere
    const isShared = isCallbackPath(routeOf(req), redirectUri) || isCallbackPath(sent, redirectUri);
    const isPlain = addressOf(req)?.pathname === sent; // `\` is a `/` to some routers
    const isElsewhere = isPlain && !isShared && !isBelowCallback(sent, redirectUri);
    if (isElsewhere && !isGuard && this.#withStartsElsewhere.size < MOST_PATHS)
      this.#withStartsElsewhere.add(redirectUri);
  }
}

/**
 * The route as the application wrote it, if its router tells: a stranger can spell an address in many ways, and routers
 * take more of them for a route than `URL` does.
 */
function routeOf(req: Request): string {
  const { baseUrl, route } = req;
  const { ctx, routeOptions } = req as { ctx?: { _matchedRoute?: unknown }; routeOptions?: { url?: string } };
  const pattern = ctx?._matchedRoute ?? routeOptions?.url ?? "";
  return String(baseUrl === undefined ? pattern : `${baseUrl}${route?.path ?? ""}`);
}

/** The service may answer with a form, if the application has asked for `response_mode=form_post`. */
function isFormPost({ body }: Request): boolean {
  if (Object(body) !== body || Array.isArray(body) || ArrayBuffer.isView(body)) return false;
  return ["code", "error", "state"].some((name) => hasParameter(body, name));
}
