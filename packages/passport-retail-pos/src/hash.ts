import { createHash } from "node:crypto";

/** What stands for a secret where the secret itself has no business. */
export function hashOf(secret: string): string {
  return createHash("sha256").update(secret).digest("base64url");
}
