/** One cookie of a request. */
export interface Cookie {
  readonly name: string;
  readonly value: string;
}

/** The cookies of a request, in its order; a name may come more than once. */
export function cookiesIn(request: Request): Cookie[] {
  return (request.headers.get("cookie") ?? "").split(";").map((pair) => {
    const text = pair.trim();
    const at = text.indexOf("=");
    return at === -1 ? { name: text, value: "" } : { name: text.slice(0, at), value: text.slice(at + 1) };
  });
}

/** A `Set-Cookie` line. `lifetimeMs` 0 removes the cookie. */
export function setCookie({ name, value }: Cookie, isSecure: boolean, lifetimeMs: number): string {
  const attributes = `Path=/; Max-Age=${lifetimeMs / 1000}; HttpOnly; SameSite=Lax`;
  return `${name}=${value}; ${attributes}${isSecure ? "; Secure" : ""}`;
}
