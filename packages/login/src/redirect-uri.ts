/**
 * Codes come back over it: https, or http on this machine (RFC 9700, 2.6); no user name and no password.
 *
 * @param name what the application calls it, for the message.
 * @throws {TypeError}
 */
export function checkedRedirectUri(name: string, uri: string, otherwise = ""): string {
  if (typeof uri !== "string" || !URL.canParse(uri) || /[\s#]/.test(uri))
    throw new TypeError(`${name} must be an absolute URL without a fragment, exactly as registered`);
  const { protocol, hostname, username, password } = new URL(uri);
  if (protocol !== "https:" && !(protocol === "http:" && isLoopback(hostname)))
    throw new TypeError(`${name} must be https (http is accepted on loopback hosts only)${otherwise}`);
  if (username || password) throw new TypeError(`${name} must not contain a user name or password`);
  return uri;
}

function isLoopback(hostname: string): boolean {
  return /^(localhost|.+\.localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname);
}
