import { base64url } from "@retail-pos/core/authoring";

// Text and bytes without Node's Buffer: WebCrypto works on bytes, cookies and addresses hold text.

export function bytesOf(text: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(text);
}

/** The bytes; `undefined` if {@link base64url} cannot have made the text. */
export function fromBase64url(text: string): Uint8Array<ArrayBuffer> | undefined {
  if (!/^[\w-]+$/.test(text) || text.length % 4 === 1) return undefined;
  const binary = atob(text.replace(/-/g, "+").replace(/_/g, "/"));
  return Uint8Array.from(binary, (letter) => letter.charCodeAt(0));
}

/** A random text that nobody guesses; 6 bits a letter. */
export function randomText(bytes: number): string {
  return base64url(crypto.getRandomValues(new Uint8Array(bytes)));
}

/** SHA-256, in 43 letters: kept in place of a secret, to recognise it without showing it. */
export async function hashOf(secret: string): Promise<string> {
  return base64url(new Uint8Array(await crypto.subtle.digest("SHA-256", bytesOf(secret))));
}
