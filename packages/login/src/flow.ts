import type { RetailPos } from "@retail-pos/core";
import { refuseMisspelt } from "@retail-pos/core/authoring";
import { acceptCallback, callbackStates } from "./callback/accept-callback.js";
import { queryIn } from "./callback/callback-query.js";
import { exchangeCode } from "./callback/exchange-code.js";
import { loginOf } from "./callback/finished-login.js";
import { failureOf, type LoginOutcome } from "./callback/login-outcome.js";
import { LoginFailure } from "./failures/login-failure.js";
import {
  loginWith,
  NOT_THIS_ONE,
  newestThatFit,
  ONE_COOKIE_HOSTS,
  type PendingLogin,
  pendingLoginsIn,
} from "./pending/pending-logins.js";
import { isOpen, spentStates } from "./pending/spent-states.js";
import { type LoginStart, startLogin } from "./pending/start-login.js";
import { applicationOf } from "./values/application.js";
import { hashOf } from "./values/bytes.js";

/** Options of {@link loginFlow}. */
export interface LoginFlowOptions {
  /** The client that `retailPos()` returned. */
  client: RetailPos;
  /** Epoch milliseconds, for the 15 minutes a login may take; default `Date.now`. */
  clock?: (() => number) | undefined;
}

/**
 * The protocol of a login, as plain values. `pending` is text that the application keeps in a place from which only
 * this browser brings it back: its session, a sealed cookie.
 */
export interface LoginFlow {
  /**
   * Starts a login (4.1).
   *
   * @returns the address to send the browser to, and the text to keep for it from now on.
   * `pending` has at most 2,000 bytes, or one login: the oldest go.
   * @throws {TypeError} naming the argument that is wrong: `state`, `redirectUri`, `scope`.
   */
  start(login?: LoginStart): Promise<{
    /** The address to send the browser to. */
    url: string;
    /** The text to keep for this browser. */
    pending: string;
  }>;
  /**
   * Checks the service's callback, spends its state once in all processes, and trades its code (4.2). Keeps no tokens:
   * `client.connect(outcome.login.tokens)` is the caller's. Every failure of a stranger, the service or the store is an
   * outcome and no rejection.
   *
   * @param callback an absolute address, or path and query as `req.url` has them.
   * @param kept `pending`: the text that was kept for this browser. `spent`: called with the text to keep from now on,
   * before the code is sent. If it throws, nothing is sent.
   * @throws the error of `spent`, if that throws.
   */
  finish(
    callback: URL | string,
    kept: {
      pending?: string | undefined;
      spent?: ((pending: string | undefined) => void | Promise<void>) | undefined;
    },
  ): Promise<LoginOutcome>;
}

/** Bytes of UTF-8: the application may keep `pending` elsewhere than in a cookie. */
const LONGEST_STATE = 64 * 1024;

/**
 * A login's protocol for frameworks that `webLogin` does not fit.
 *
 * @throws {TypeError} naming the option that is wrong, or what the client lacks for a login.
 */
export function loginFlow(options: LoginFlowOptions): LoginFlow {
  refuseMisspelt(options, ["client", "clock"], { verify: "outcome.state" });
  const { client, clock = Date.now } = options;
  const { identity } = applicationOf(client);
  if (typeof clock !== "function") throw new TypeError("clock must be a function");
  const spent = spentStates(client);

  return {
    async start({ pending, ...start } = {}) {
      const { login, url } = startLogin(client, clock(), start, LONGEST_STATE);
      const kept = await write([...(await stillPending(pending)), login]);
      return { url: url.href, pending: kept as string };
    },
    async finish(callback, { pending, spent: tell } = {}) {
      let step: Awaited<ReturnType<typeof accept>>;
      try {
        step = await accept(callback, await read(pending));
      } catch (error) {
        const isOver = error instanceof LoginFailure && error.code === "state_expired";
        const rest = isOver ? await write(await stillPending(pending)) : pending;
        return { ok: false, ...failureOf(error), pending: rest };
      }
      const rest = await write(await stillPending(pending));
      await tell?.(rest);
      const { redirectUri, appState } = step.kept.login;
      try {
        const tokens = await exchangeCode(client, step.callback, { redirectUri });
        return { ok: true, login: loginOf(tokens), state: appState, pending: rest };
      } catch (error) {
        return { ok: false, ...failureOf(error), pending: rest };
      }
    },
  };

  /** @throws {LoginFailure | RetailPosError} nothing was sent. */
  async function accept(address: URL | string, logins: readonly PendingLogin[]) {
    const whyUnknown = logins.length > 0 ? NOT_THIS_ONE : NONE;
    const find = (state: string) => ({ login: loginWith(state, logins), whyUnknown });
    return acceptCallback(queryIn(addressOf(address)), callbackStates({ find, spent, clock }));
  }

  /** The logins in a text that this application wrote for this service and API; none in any other. */
  async function read(pending: string | undefined): Promise<PendingLogin[]> {
    try {
      const kept: { of?: unknown; logins?: unknown } | null = JSON.parse(pending ?? "null");
      return kept?.of === (await whose()) ? pendingLoginsIn(kept.logins) : [];
    } catch {
      return [];
    }
  }

  /** The newest of the logins. `undefined` without any: nothing is kept for a browser that has none under way. */
  async function write(logins: readonly PendingLogin[]): Promise<string | undefined> {
    const of = await whose();
    const text = (some: readonly PendingLogin[]) => JSON.stringify({ of, logins: some });
    return logins.length === 0 ? undefined : text(newestThatFit(logins, text));
  }

  async function whose(): Promise<string> {
    return (await hashOf(identity)).slice(0, 22);
  }

  async function stillPending(pending: string | undefined): Promise<PendingLogin[]> {
    return (await read(pending)).filter((login) => isOpen(login, spent, clock()));
  }
}

/** @throws {LoginFailure} */
function addressOf(callback: URL | string): URL {
  const [text, base] = [String(callback), "http://localhost"];
  if (URL.canParse(text, base)) return new URL(text, base);
  throw new LoginFailure("invalid_callback", "The callback's address cannot be read; nothing was sent");
}

const NONE =
  "No login is under way in this browser: what was kept for it did not come back. Check that login and callback use one " +
  "host name (localhost and 127.0.0.1 are two), and that its cookie is SameSite=Lax (Strict is not sent on the way back " +
  `from the service) and Secure only on https. ${ONE_COOKIE_HOSTS}`;
