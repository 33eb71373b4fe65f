import { randomBytes, type ScryptOptions, scrypt, timingSafeEqual } from "node:crypto";
import { promisify } from "node:util";
import pLimit from "p-limit";

const derive: (password: string, salt: Buffer, length: number, cost: ScryptOptions) => Promise<Buffer> =
  promisify(scrypt);

/** OWASP's cheapest in memory, 16 MiB for each password that is tried at the same moment. */
const COST = { N: 2 ** 14, r: 8, p: 5 };
const KEY_BYTES = 32;

/** What is kept of a password: how it was made, the salt and the key. */
export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(16);
  const { N, r, p } = COST;
  const key = await keyOf(password, salt, COST);
  return ["scrypt", N, r, p, salt.toString("base64url"), key.toString("base64url")].join("$");
}

/**
 * Whether a password is the one that was hashed.
 *
 * @param hashed nothing if there is no such person. That takes as long, so that nobody learns who has an account.
 */
export async function isPassword(password: string, hashed: string | undefined): Promise<boolean> {
  const [, N, r, p, salt = "", key = ""] = (hashed ?? NOBODYS).split("$");
  const cost = { N: Number(N), r: Number(r), p: Number(p) };
  const expected = Buffer.from(key, "base64url");
  const found = await keyOf(password, Buffer.from(salt, "base64url"), cost);
  return found.length === expected.length && timingSafeEqual(found, expected) && hashed !== undefined;
}

/** Of the four threads that Node has for such work, two stay free for DNS and files: renewals need them. */
const twoAtOnce = pLimit(2);

function keyOf(password: string, salt: Buffer, cost: ScryptOptions): Promise<Buffer> {
  // Letters can be put together in two ways, and keyboards differ.
  return twoAtOnce(() => derive(password.normalize("NFKC"), salt, KEY_BYTES, cost));
}

const NOBODYS = await hashPassword(randomBytes(16).toString("base64url"));
