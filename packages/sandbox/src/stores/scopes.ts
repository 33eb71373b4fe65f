/** What one of them may look like (RFC 6749, section 3.3). */
export function isScope(value: unknown): value is string {
  return typeof value === "string" && /^[\x21\x23-\x5b\x5d-\x7e]+$/.test(value);
}

/** Why an authorization request is refused for its scopes, in the words of RFC 6749, section 4.1.2.1. */
export interface ScopeRefusal {
  readonly error: "access_denied" | "invalid_scope";
  readonly description: string;
}

/**
 * The scopes that a login asks for, if the service may grant them. A service without scopes ignores what it is asked
 * for (R1). One with scopes answers `access_denied` to a login that names none.
 */
export function readScopes(asked: string | null, known: readonly string[]): readonly string[] | ScopeRefusal {
  if (known.length === 0) return [];
  // Texts with a space between them (RFC 6749, section 3.3).
  const scopes = [...new Set(asked?.split(" ").filter((scope) => scope !== ""))];
  if (scopes.length === 0) {
    const description = `The login names no scope. This service wants at least one of: ${known.join(" ")}`;
    return { error: "access_denied", description };
  }
  if (scopes.every((scope) => known.includes(scope))) return scopes;
  return { error: "invalid_scope", description: `This service has no scopes but: ${known.join(" ")}` };
}

/** The scope that a call of the sample API needs, if any: `path` is what follows `{base_url}/api`. */
export function scopeFor(method: string, [resource]: readonly string[]): string | undefined {
  if (resource === "products") return "products:read";
  if (resource === "sales") return method === "POST" ? "sales:write" : "sales:read";
  return undefined;
}
