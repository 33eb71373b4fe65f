/** A key that seals tokens. */
export interface SealingKey {
  /**
   * Written beside what the key sealed, readable by anybody: 1 to 100 visible ASCII characters. Never used again for
   * another secret.
   */
  readonly id: string;
  /** 32 random bytes, as they are or as base64 or base64url text: what `openssl rand -base64 32` prints. */
  readonly secret: Uint8Array | string;
}

/**
 * Reads keys from a setting, such as the environment variable `TOKEN_KEYS`.
 *
 * @param text `<id>:<secret>`, the first of them the key that seals, with commas between several.
 * @throws {TypeError} naming the place of the key that is wrong, never its secret.
 */
export function sealingKeys(text: string | undefined): SealingKey[] {
  if (!text?.trim()) throw new TypeError("there is no key: give <id>:<32 bytes in base64>");
  const keys = text.split(",").map((pair, index) => {
    const colon = pair.lastIndexOf(":");
    if (colon < 0) throw new TypeError(`keys[${index}] must be <id>:<32 bytes in base64>`);
    return { id: pair.slice(0, colon).trim(), secret: pair.slice(colon + 1).trim() };
  });
  checkKeys(keys);
  return keys;
}

/** The keys by id, checked. */
export interface Keys {
  /** Seals. */
  readonly first: { readonly id: string; readonly secret: Uint8Array };
  /** Opens. */
  secretOf(id: string): Uint8Array | undefined;
}

/** A256GCM takes a key of this length (RFC 7518, 5.3). */
const SECRET_BYTES = 32;

/** @throws {TypeError} naming the key that is wrong, never its secret. */
export function checkKeys(keys: unknown): Keys {
  if (!Array.isArray(keys) || keys.length === 0)
    throw new TypeError("keys must be a list of at least one { id, secret }");
  const checked = Array.from(keys, checkKey);
  const secrets = new Map(checked.map(({ id, secret }) => [id, secret]));
  const twice = checked.findIndex(({ id, secret }) => secrets.get(id) !== secret);
  if (twice >= 0) throw new TypeError(`keys[${twice}].id is the id of another key too`);
  return { first: checked[0] as Keys["first"], secretOf: (id) => secrets.get(id) };
}

function checkKey(key: unknown, index: number): Keys["first"] {
  const { id, secret } = Object(key) as { id?: unknown; secret?: unknown };
  const name = `keys[${index}]`;
  if (!isKeyId(id)) throw new TypeError(`${name}.id must be a text of 1 to 100 visible ASCII characters`);
  return { id, secret: checkSecret(secret, `${name}.secret`) };
}

export function isKeyId(id: unknown): id is string {
  return typeof id === "string" && /^[\x21-\x7e]{1,100}$/.test(id);
}

function checkSecret(secret: unknown, name: string): Uint8Array {
  if (secret === undefined)
    throw new TypeError(`${name} must be ${SECRET_BYTES} bytes, or base64 or base64url text; none was given`);
  const bytes = typeof secret === "string" ? decoded(secret, name) : secret;
  if (!(bytes instanceof Uint8Array))
    throw new TypeError(`${name} must be a Uint8Array, or base64 or base64url text`);
  if (bytes.length !== SECRET_BYTES)
    throw new TypeError(`${name} must have ${SECRET_BYTES} bytes, not ${bytes.length}`);
  return Uint8Array.from(bytes); // the caller may overwrite its own bytes
}

function decoded(text: string, name: string): Uint8Array {
  if (/^[0-9a-f]{64}$/i.test(text))
    throw new TypeError(`${name} looks like hex; give Buffer.from(text, "hex"), or base64 text`);
  if (!/^[\w+/-]+={0,2}$/.test(text)) throw new TypeError(`${name} is no base64 or base64url text`);
  return Buffer.from(text, "base64"); // reads both alphabets
}
