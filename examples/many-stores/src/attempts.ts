import { isIPv6 } from "node:net";
import type { Records } from "./records.js";

/** Somebody tried too often. */
export class TooManyAttempts extends Error {
  override readonly name = "TooManyAttempts";
  readonly status = 429;
  readonly headers: { readonly "retry-after": string };

  /** @param waitMs until they may try again. */
  constructor(waitMs: number) {
    super("Too many passwords were tried");
    this.headers = { "retry-after": String(Math.ceil(waitMs / 1000)) };
  }
}

const WINDOW_MS = 15 * 60_000;
/** From one address of the network: an office may share it. */
const MOST_FROM_ADDRESS = 50;
/** At one account from one address: whoever guesses elsewhere locks nobody out. */
const MOST_AT_ACCOUNT = 10;

export interface Attempts {
  /** @throws {TooManyAttempts} before a password is looked at: that is what costs. */
  count(address: string, email?: string): Promise<void>;
  /** It was the right password. */
  forget(address: string, email: string): Promise<void>;
}

/** Bounds how many passwords can be tried, in all processes together. */
export function attempts(records: Records, clock = Date.now): Attempts {
  const accountKey = (address: string, email: string) => `${email} from ${networkOf(address)}`;

  async function countOne(key: string, most: number): Promise<void> {
    const now = clock();
    const { tries, endsAt } = await records.countAttempt(key, WINDOW_MS, now);
    if (tries > most) throw new TooManyAttempts(endsAt - now);
  }

  return {
    async count(address, email) {
      await countOne(networkOf(address), MOST_FROM_ADDRESS);
      if (email !== undefined) await countOne(accountKey(address, email), MOST_AT_ACCOUNT);
    },
    forget: (address, email) => records.forgetAttempts(accountKey(address, email)),
  };
}

/** Whoever has one IPv6 address has all of its network, which begins with the same four groups (RFC 4291, 2.5.4). */
export function networkOf(address: string): string {
  const asIPv4 = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
  if (asIPv4 || !isIPv6(address)) return asIPv4 ?? address;
  const [before = "", after] = address.split("%", 1).join().split("::");
  const [first, last] = [before, after ?? ""].map((part) => part.split(":").filter(Boolean)) as [
    string[],
    string[],
  ];
  const zeros = Array(Math.max(0, 8 - first.length - last.length)).fill("0");
  const groups = [...first, ...zeros, ...last].slice(0, 4);
  return `${groups.map((group) => Number.parseInt(group, 16).toString(16)).join(":")}::/64`;
}
