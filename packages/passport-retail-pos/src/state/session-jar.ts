import type { Request } from "express";
import { loginWith, MOST_PENDING, pendingLoginsIn } from "../../../login/src/parts.js";
import type { LoginJar } from "./login-jar.js";
import { isOfPerson, type StartedLogin } from "./person.js";
import { putList, type Session, sessionIn } from "./session-slot.js";

/**
 * Of JSON. A session may be a cookie, which browsers drop beyond 4,096 bytes, and with it who is logged in. Encryption
 * and base64 make it longer by a third, and the application keeps something there, too.
 */
const MOST_BYTES = 2_000;

/** Keeps the logins under way in the application's session, where a response is out of reach, or cookies are. */
export function sessionJar(key: string): LoginJar {
  return {
    async add(req, login) {
      putList(req, key, fitting([...pendingLoginsIn(sessionOf(req)[key]), login].slice(-MOST_PENDING)));
    },
    async find(req, state) {
      const logins = pendingLoginsIn<StartedLogin>(sessionOf(req)[key]);
      const login = loginWith(state, logins);
      return {
        login,
        whyUnknown: () => (logins.length > 0 ? NOT_THIS_ONE : NONE),
        remove() {
          const others = logins.filter((one) => one !== login);
          const moving = others.filter((one) => isOfPerson(req, one, false)); // a stranger may have planted the rest
          putList(req, key, others);
          return () => putList(req, key, moving);
        },
      };
    },
  };
}

const NOT_THIS_ONE =
  "The state is none of the logins under way in this session: it was started in another browser or session, is older " +
  "than the last 20 (or those that there is room for), or the callback is forged";

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
    "Login with store needs a session to keep its state in, because this framework lets it set no cookie, or because " +
      'of store: "session": put session middleware before passport.authenticate(), or give the strategy a state store ' +
      "of your own as `store`",
  );
}

/** The newest logins that there is room for: one at least, whatever its length. */
function fitting(logins: readonly StartedLogin[]): readonly StartedLogin[] {
  const bytes = Buffer.byteLength(JSON.stringify(logins));
  return bytes <= MOST_BYTES || logins.length === 1 ? logins : fitting(logins.slice(1));
}
