/**
 * Secrets derived from the client secret (HKDF, RFC 5869): the same in all processes of an application, and another for
 * each purpose. Nobody gets the client secret back from one, unless it is so short that it can be guessed.
 *
 * @throws {TypeError} the purpose is no text, or empty.
 */
export function derivedSecrets(clientId: string, clientSecret: string): (purpose: string) => Promise<string> {
  return async (purpose) => {
    if (typeof purpose !== "string" || purpose === "")
      throw new TypeError("purpose must be a non-empty text");
    const encoder = new TextEncoder();
    const material = await crypto.subtle.importKey("raw", encoder.encode(clientSecret), "HKDF", false, [
      "deriveBits",
    ]);
    const info = encoder.encode(JSON.stringify(["@retail-pos/core secret 1", clientId, purpose]));
    const bits = await crypto.subtle.deriveBits(
      { name: "HKDF", hash: "SHA-256", salt: new Uint8Array(0), info },
      material,
      256,
    );
    return Array.from(new Uint8Array(bits), (byte) => byte.toString(16).padStart(2, "0")).join("");
  };
}
