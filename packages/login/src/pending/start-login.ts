import type { RetailPos } from "@retail-pos/core";
import { checkedRedirectUri } from "@retail-pos/core/authoring";
import { checkAppState } from "../values/json-check.js";
import { newLogin, type PendingLogin } from "./pending-logins.js";

/** Options of one login. */
export interface LoginStart {
  /** The text that {@link LoginFlow.start} or `finish` gave this browser last, if it brought one back. */
  pending?: string | undefined;
  /**
   * The application's own state: never sent, and brought back with the login. JSON has to hold it, in 64 kB.
   */
  state?: unknown;
  /** The `redirect_uri` of this login, if it is not the client's; https, or http on a loopback host. */
  redirectUri?: string | undefined;
  /** Sent only if given; the service knows no scopes (R1). */
  scope?: string | undefined;
}

/**
 * A login that starts, and the address to send the browser to (4.1).
 *
 * @throws {TypeError} naming the argument that is wrong.
 */
export function startLogin(
  client: RetailPos,
  now: number,
  { state: appState, redirectUri, scope }: LoginStart,
  longestState?: number,
): { readonly login: PendingLogin; readonly url: URL } {
  if (redirectUri !== undefined) checkedRedirectUri("redirectUri", redirectUri);
  checkAppState(appState, longestState);
  const login = newLogin(now, { appState, redirectUri });
  return { login, url: client.authorizationUrl(login.state, { redirectUri, scope }) };
}
