import type { RetailPos, RetailPosApplication } from "@retail-pos/core";

/** The application that a client belongs to, as far as its logins depend on it. */
export interface Application extends RetailPosApplication {
  /** The consent page (4.1): logins need one. */
  readonly authorizationUrl: string;
  /**
   * Client id, consent server and API: a login counts only where all three are the same. One client id may be
   * registered at a second service, for staging, and a code must not go to another API than the login was started for.
   */
  readonly identity: string;
}

const NO_AUTH_URL =
  "authUrl is needed for a login; none was given (settingsFromEnv() reads RETAIL_POS_AUTH_URL)";

/** @throws {TypeError} the client is none, or lacks what a login needs. */
export function applicationOf(client: RetailPos): Application {
  const application = (client as RetailPos | undefined)?.application;
  if (!application)
    throw new TypeError(`client must be what retailPos() returns${client ? "" : "; none was given"}`);
  const { clientId, authorizationUrl, baseUrl } = application;
  if (authorizationUrl === undefined) throw new TypeError(NO_AUTH_URL);
  return {
    ...application,
    authorizationUrl,
    identity: [new URL(authorizationUrl).origin, clientId, baseUrl].join("\n"),
  };
}
