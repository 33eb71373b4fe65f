import type { Request } from "express";
import {
  isOpen,
  loginWith,
  NOT_THIS_ONE,
  newestThatFit,
  type PendingLogin,
  pendingLoginsIn,
  type SpentStates,
} from "../../../login/src/parts.js";
import type { LoginJar } from "./own-states.js";
import { type Session, sessionIn } from "./person.js";

/** Keeps the logins under way in the application's session, where a response is out of reach, or cookies are. */
export function sessionJar(key: string, spent: SpentStates): LoginJar {
  const loginsIn = (req: Request) => pendingLoginsIn(sessionOf(req)[key]);

  return {
    async add(req, login, { mayEvict }) {
      const all = [...loginsIn(req).filter((one) => isOpen(one, spent, login.startedAt)), login];
      const kept = newestThatFit(all, JSON.stringify);
      if (kept.length < all.length && !mayEvict) return false;
      put(req, key, kept);
      await saved(req);
      return true;
    },
    async find(req, state) {
      const logins = loginsIn(req);
      const login = loginWith(state, logins);
      const others = logins.filter((one) => one !== login);
      return {
        login,
        whyUnknown: logins.length > 0 ? NOT_THIS_ONE : NONE,
        remove: () => () => put(req, key, others),
      };
    },
  };
}

const NONE =
  "No login is under way in this session: its cookie was not sent back, its store was emptied (sessions in memory do " +
  "not outlive a restart), another program on this host name uses the same cookie, or somebody logged in or out " +
  "meanwhile. Check that login and callback use one host name (localhost and 127.0.0.1 are two), that the session " +
  "cookie is SameSite=Lax (Strict is not sent on the way back from the service) and Secure only on https, where behind " +
  "a proxy the proxy has to send `X-Forwarded-Proto: https` and the application has to trust it";

/** @throws {Error} there is no session middleware: the application has to be mended. */
function sessionOf(req: Request): Session {
  const session = sessionIn(req);
  if (session) return session;
  throw new Error(
    "Login with store needs a session to keep its state in, because this framework lets it set no cookie (with polka, " +
      "next-connect or a bare server, set `req.res = res` before passport.authenticate(), and it can), or because of " +
      'store: "session": put session middleware before passport.authenticate(), or give the strategy a state store of ' +
      "your own as `store`",
  );
}

/** Leaves nothing there that is empty. A proxy may have no way to delete (@fastify/secure-session). */
function put(req: Request, key: string, logins: readonly PendingLogin[]): void {
  const session = sessionIn(req);
  if (!session || (logins.length === 0 && session[key] === undefined)) return;
  session[key] = logins.length > 0 ? logins : undefined;
  if (logins.length === 0) delete session[key];
}

/** Waits until the session is stored. Some frameworks send a redirect before that, and it may be back too soon. */
function saved(req: Request): Promise<void> {
  const session = sessionOf(req);
  // An older koa-session's takes no callback: it only notes that the session is to be written in the end.
  // express-session's takes one, though its wrapper does not declare it.
  const takesCallback = "sessionStore" in req || (session.save?.length ?? 0) > 0;
  return new Promise((resolve, reject) => {
    if (typeof session.save !== "function" || !takesCallback) resolve();
    else session.save((error) => (error ? reject(error) : resolve()));
  });
}
