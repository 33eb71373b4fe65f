import type { RetailPos } from "@retail-pos/core";

/** The application that a client belongs to, as far as its logins depend on it. */
export interface Application {
  /** The registered client id (2.1). */
  readonly clientId: string;
  /** {auth_url} with `/connect` (4.1). */
  readonly authorizationUrl: string;
  /** {base_url}, with `{domain_prefix}` in it. */
  readonly baseUrl: string;
  /** The client's own `redirect_uri`; `undefined` if each login has to name one. */
  readonly redirectUri: string | undefined;
  /**
   * Client id, consent server and API: a login counts only where all three are the same. One client id may be
   * registered at a second service, for staging, and a code must not go to another API than the login was started for.
   */
  readonly identity: string;
}

const SAMPLE = "sample-retailer";

/**
 * Asks the client through its public methods, so that any client will do.
 *
 * @throws {TypeError} the client is none, or lacks what a login needs.
 */
export function applicationOf(client: RetailPos): Application {
  const methods = ["authorizationUrl", "exchange", "connect", "retailer", "claim"] as const;
  if (methods.some((method) => typeof client?.[method] !== "function"))
    throw new TypeError(`client must be what retailPos() returns${client ? "" : "; none was given"}`);
  // A client without a redirectUri may be given one with each login.
  const url = client.authorizationUrl("settings", { redirectUri: "https://client-id.invalid/" });
  const clientId = url?.searchParams?.get("client_id");
  const baseUrl = client.retailer(SAMPLE)?.baseUrl?.replace(SAMPLE, "{domain_prefix}");
  if (!clientId || !baseUrl) throw new TypeError("client must be what retailPos() returns");
  return {
    clientId,
    authorizationUrl: `${url.origin}${url.pathname}`,
    baseUrl,
    redirectUri: ownRedirectUri(client),
    identity: [url.origin, clientId, baseUrl].join("\n"),
  };
}

function ownRedirectUri(client: RetailPos): string | undefined {
  try {
    return client.authorizationUrl("settings").searchParams.get("redirect_uri") ?? undefined;
  } catch {
    return undefined; // it has none, and says so with a TypeError
  }
}
