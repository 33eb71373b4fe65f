import { createHash, randomBytes, timingSafeEqual } from "node:crypto";

/**
 * The trace of a secret that the sandbox handed out: enough to recognise it and to tell a person which one it is, and
 * too little to show it anywhere.
 */
export interface KeptSecret {
  readonly fingerprint: string;
  /** The last four characters, as the console shows them. */
  readonly ending: string;
}

export type SecretKind = "code" | "access" | "refresh" | "personal";

/** A new secret: the whole value, to be handed out once, and what to keep of it. */
export function newSecret(kind: SecretKind): { value: string; kept: KeptSecret } {
  const value = `sandbox_${kind}_${randomBytes(24).toString("hex")}`;
  return { value, kept: { fingerprint: fingerprintOf(value), ending: value.slice(-4) } };
}

/** Secrets are looked up by this, so that no comparison of theirs takes a time that depends on them. */
export function fingerprintOf(secret: string): string {
  return createHash("sha256").update(secret).digest("base64url");
}

export function isSameSecret(one: string, other: string): boolean {
  return timingSafeEqual(Buffer.from(fingerprintOf(one)), Buffer.from(fingerprintOf(other)));
}

/** A random name for something shown to one browser only. */
export function newPageId(): string {
  return randomBytes(18).toString("base64url");
}

/**
 * A path with every secret blotted out: those of the sandbox's own making, and the application's. A path that holds
 * one in percent-encoding is shown decoded, as far as it takes to find it.
 */
export function redact(path: string, clientSecret: string, mostEncodings = 8): string {
  const blotted = blot(path, clientSecret);
  const decoded = decodedOnce(blotted);
  if (decoded === blotted) return blotted;
  if (mostEncodings === 0) return "…"; // too many layers to look through
  const readable = redact(decoded, clientSecret, mostEncodings - 1);
  return readable === decoded ? blotted : readable;
}

function blot(path: string, clientSecret: string): string {
  const blotted = path.replace(/sandbox_(code|access|refresh|personal)_\w+/g, "sandbox_$1_…");
  // A shorter secret would turn up in ordinary words, and protects nothing.
  return clientSecret.length < 8 ? blotted : blotted.replaceAll(clientSecret, "…");
}

function decodedOnce(path: string): string {
  return path.replace(/(?:%[0-9a-f]{2})+/gi, (run) => Buffer.from(run.replaceAll("%", ""), "hex").toString());
}
