import type { RetailPos } from "@retail-pos/core";
import { base64url } from "@retail-pos/core/authoring";
import type { Application } from "../values/application.js";
import { bytesOf, fromBase64url } from "../values/bytes.js";

/** Seals the cookie of one login, so that nobody reads or changes it, and opens it again. */
export interface Seal {
  /** @param name the cookie's; a text that was sealed for another name cannot be opened. */
  seal(name: string, text: string): Promise<string>;
  /** `undefined` if none of the secrets opens it. */
  open(name: string, sealed: string): Promise<string | undefined>;
}

/** Node's types have no global name for it. */
type CryptoKey = Awaited<ReturnType<typeof crypto.subtle.importKey>>;

const IV_BYTES = 12;
const SHORTEST_SECRET = 32;

/** A secret, or a function that gives it: some runtimes allow no cryptography while modules are loaded. */
export type SealSecret = string | (() => Promise<string>);

/**
 * AES-GCM under a key that HKDF makes of a secret for each cookie name, client id, service and API.
 *
 * @param secrets the first seals, all open.
 */
export function sealOf(secrets: readonly SealSecret[], { identity }: Application): Seal {
  return {
    async seal(name, text) {
      const key = await keyFor(name, secrets[0] as SealSecret);
      const iv = crypto.getRandomValues(new Uint8Array(IV_BYTES));
      const sealed = await crypto.subtle.encrypt({ name: "AES-GCM", iv }, key, bytesOf(text));
      return base64url(iv) + base64url(new Uint8Array(sealed)); // 12 bytes are exactly 16 letters
    },
    async open(name, sealed) {
      const bytes = fromBase64url(sealed);
      if (!bytes || bytes.length <= IV_BYTES) return undefined;
      for (const secret of secrets) {
        const key = await keyFor(name, secret);
        const text = await opened(key, bytes.subarray(0, IV_BYTES), bytes.subarray(IV_BYTES));
        if (text !== undefined) return text;
      }
      return undefined;
    },
  };

  async function keyFor(name: string, secret: SealSecret): Promise<CryptoKey> {
    const bytes = bytesOf(typeof secret === "string" ? secret : await secret());
    const material = await crypto.subtle.importKey("raw", bytes, "HKDF", false, ["deriveKey"]);
    const info = bytesOf(`@retail-pos/login cookie 4\n${name}\n${identity}`);
    return crypto.subtle.deriveKey(
      { name: "HKDF", hash: "SHA-256", salt: new Uint8Array(0), info },
      material,
      { name: "AES-GCM", length: 256 },
      false,
      ["encrypt", "decrypt"],
    );
  }
}

async function opened(
  key: CryptoKey,
  iv: Uint8Array<ArrayBuffer>,
  data: Uint8Array<ArrayBuffer>,
): Promise<string | undefined> {
  try {
    return new TextDecoder().decode(await crypto.subtle.decrypt({ name: "AES-GCM", iv }, key, data));
  } catch {
    return undefined;
  }
}

/**
 * The secrets of an application's cookies. Without the option `secret` it is one that the client makes of its client
 * secret: the same in all processes.
 *
 * @throws {TypeError} naming `secret`; its value is not repeated.
 */
export function secretsIn(secret: unknown, client: RetailPos): SealSecret[] {
  if (secret === undefined) return [() => client.secretFor("the cookies of logins under way")];
  const secrets: unknown[] = [secret].flat();
  const isLong = (one: unknown): one is string =>
    typeof one === "string" && [...one].length >= SHORTEST_SECRET;
  if (secrets.length > 0 && secrets.every(isLong)) return secrets;
  throw new TypeError(
    `secret must be a text of ${SHORTEST_SECRET} characters or more, or a list of such texts; the first seals`,
  );
}
