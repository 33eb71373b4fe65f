/** Redis Cluster spreads keys over so many slots. */
export const SLOTS = 16_384;

/**
 * A key of ours that is in this slot: a command on it reaches the node that has the slot. If the prefix has a hash tag
 * of its own, all keys are in one slot, and so is this one.
 *
 * @returns the key without the prefix.
 */
export function keyInSlot(slot: number, prefix: string): string {
  for (let number = 0; ; number += 1) {
    const key = `{${number}}:list`;
    if (slotOf(prefix + key) === slot || hasTag(prefix)) return key;
  }
}

function hasTag(prefix: string): boolean {
  return /^[^{]*\{[^}]+\}/.test(prefix);
}

/** The checksum of the text in the first braces, else of the whole key (Redis Cluster specification). */
function slotOf(key: string): number {
  const open = key.indexOf("{");
  const close = key.indexOf("}", open + 1);
  return crc16(open >= 0 && close > open + 1 ? key.slice(open + 1, close) : key) % SLOTS;
}

/** CRC-16/XMODEM. */
function crc16(text: string): number {
  let crc = 0;
  for (const byte of Buffer.from(text)) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit += 1) crc = crc & 0x8000 ? (crc << 1) ^ 0x1021 : crc << 1;
  }
  return crc & 0xffff;
}
