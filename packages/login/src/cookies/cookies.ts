/** One cookie of a request. */
export interface Cookie {
  /** A token (RFC 9110, 5.6.2). */
  readonly name: string;
  /** As it was sent. */
  readonly value: string;
}

/**
 * A pair of a `Cookie` header: a token (RFC 9110, 5.6.2), and a value without blanks. Only spaces and tabs around it
 * are cut (RFC 6265, 5.2). `trim()` would cut more: a browser takes the byte A0 before `__Host-` for part of a name
 * that any subdomain may set.
 */
const PAIR = /^[ \t]*([!#$%&'*+.^`|~\w-]+)=([^ \t]*)[ \t]*$/;

/** The cookies in a `Cookie` header, in its order; a name may come more than once. What is no pair is left out. */
export function cookiesIn(header: string | null | undefined): Cookie[] {
  return (header ?? "").split(";").flatMap((text) => {
    const [, name, value] = PAIR.exec(text) ?? [];
    return name === undefined || value === undefined ? [] : [{ name, value }];
  });
}

/** A `Set-Cookie` line. `lifetimeMs` 0 removes the cookie. */
export function setCookie({ name, value }: Cookie, isSecure: boolean, lifetimeMs: number): string {
  const attributes = `Path=/; Max-Age=${lifetimeMs / 1000}; HttpOnly; SameSite=Lax`;
  return `${name}=${value}; ${attributes}${isSecure ? "; Secure" : ""}`;
}
