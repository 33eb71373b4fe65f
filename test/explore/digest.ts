/** A running hash of what happened, 53 bits wide: a million states meet by chance once in ten thousand runs. */
export class Digest {
  #low = 0x811c9dc5;
  #high = 0x9e3779b9;

  add(value: number): void {
    const word = Math.trunc(value) | 0;
    const rest = Math.trunc(value / 4294967296) | 0;
    this.#low = Math.imul(this.#low ^ word, 0x01000193) ^ (this.#low >>> 15);
    this.#high = Math.imul(this.#high ^ (word + rest), 0x85ebca6b) ^ (this.#high >>> 13);
    this.#high = Math.imul(this.#high ^ rest, 0xc2b2ae35) ^ (this.#low >>> 16);
  }

  get key(): number {
    return (this.#high & 0x1fffff) * 4294967296 + (this.#low >>> 0);
  }
}

const known = new Map<string, number>();
/** Names are few; past this many somebody put a counter into one. */
const MOST_NAMES = 200_000;

/** The digest of a text. The texts are names of steps and tokens, which come again and again. */
export function digestOf(text: string): number {
  const found = known.get(text);
  if (found !== undefined) return found;
  const digest = new Digest();
  for (let at = 0; at < text.length; at += 1) digest.add(text.charCodeAt(at));
  if (known.size >= MOST_NAMES) known.clear();
  known.set(text, digest.key);
  return digest.key;
}
