import type { RetailPos } from "@retail-pos/core";

/** The application that a client belongs to, as far as its logins depend on it. */
export interface Application {
  /** The registered client id (2.1). */
  readonly clientId: string;
  /** The origin of the consent page (4.1): the same client id may be registered at a second service, for staging. */
  readonly service: string;
  /** The client's own `redirect_uri`; `undefined` if each login has to name one. */
  readonly redirectUri: string | undefined;
  /** Which of the application's keepers of logins, if it has several; each has cookies of its own. */
  readonly keeper?: string | undefined;
}

/**
 * Asks the client through its public methods, so that any client will do.
 *
 * @throws {TypeError} the client is none, or lacks what a login needs.
 */
export function applicationOf(client: RetailPos): Application {
  for (const method of ["authorizationUrl", "exchange", "connect"] as const) {
    if (typeof client?.[method] === "function") continue;
    const isNone = client === undefined || client === null;
    throw new TypeError(`client must be what retailPos() returns${isNone ? "; none was given" : ""}`);
  }
  // A client without a redirectUri may be given one with each login.
  const url = client.authorizationUrl("settings", { redirectUri: "https://client-id.invalid/" });
  const clientId = url?.searchParams?.get("client_id");
  if (!clientId) throw new TypeError("client must be what retailPos() returns");
  return { clientId, service: url.origin, redirectUri: ownRedirectUri(client) };
}

function ownRedirectUri(client: RetailPos): string | undefined {
  try {
    return client.authorizationUrl("settings").searchParams.get("redirect_uri") ?? undefined;
  } catch {
    return undefined; // it has none, and says so with a TypeError
  }
}
