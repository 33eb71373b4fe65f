import { createHash } from "node:crypto";

/** Kept in place of a secret, to recognise it without showing it. */
export function hashOf(secret: string): string {
  return createHash("sha256").update(secret).digest("base64url");
}
