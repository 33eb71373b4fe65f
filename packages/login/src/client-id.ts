import type { RetailPos } from "@retail-pos/core";

/**
 * The id of the application that a client belongs to, asked through its public methods, so that any client will do.
 *
 * @throws {TypeError} the client is none, or lacks what a login needs.
 */
export function clientIdOf(client: RetailPos): string {
  for (const method of ["authorizationUrl", "exchange", "connect"] as const) {
    if (typeof client?.[method] === "function") continue;
    const isNone = client === undefined || client === null;
    throw new TypeError(`client must be what retailPos() returns${isNone ? "; none was given" : ""}`);
  }
  // A client without a redirectUri may be given one with each login.
  const url = client.authorizationUrl("settings", { redirectUri: "https://client-id.invalid/" });
  const clientId = url?.searchParams?.get("client_id");
  if (!clientId) throw new TypeError("client must be what retailPos() returns");
  return clientId;
}
