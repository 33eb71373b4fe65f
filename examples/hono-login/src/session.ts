import type { Context, MiddlewareHandler } from "hono";
import { deleteCookie, generateSignedCookie, getSignedCookie } from "hono/cookie";
import type { CookieOptions } from "hono/utils/cookie";

/** What the routes know of a request. */
export interface Env {
  Variables: {
    /** Who is logged in: one store. A real application would keep a user of its own here. */
    store: string | undefined;
  };
}

const NAME = "hono-login";
const TWO_WEEKS_MS = 14 * 24 * 60 * 60_000;

/** Who is logged in, in a signed cookie. */
export type Session = ReturnType<typeof signedSession>;

export function signedSession(secret: string, isSecure: boolean, clock = Date.now) {
  const options: CookieOptions = {
    path: "/",
    httpOnly: true,
    sameSite: "Lax", // not Strict: it has to come along when the service sends the browser back
    secure: isSecure,
    maxAge: TWO_WEEKS_MS / 1000,
    ...(isSecure && { prefix: "host" }),
  };

  const stores = new WeakMap<Request, string | undefined>();

  /** Puts the store on `c.var.store`. */
  const read: MiddlewareHandler<Env> = async (c, next) => {
    const value = await getSignedCookie(c, secret, NAME, options.prefix);
    const [store, endsAt] = (value || "").split(".");
    c.set("store", clock() < Number(endsAt) ? store : undefined);
    stores.set(c.req.raw, c.get("store"));
    await next();
  };

  return {
    read,
    /** Who is logged in, for code that has the request and no context: the page of a login that failed. */
    storeOf: (request: Request) => stores.get(request),
    /** The `Set-Cookie` line of somebody who logs in. */
    begin: (store: string) =>
      generateSignedCookie(NAME, `${store}.${clock() + TWO_WEEKS_MS}`, secret, options),
    end: (c: Context) => void deleteCookie(c, NAME, options),
  };
}
