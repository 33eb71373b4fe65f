/** Numbers from 0 to 1, the same for the same seed (a linear congruential generator with Knuth's constants). */
export function randomOf(seed) {
  let state = BigInt(seed);
  return () => {
    state = (state * 6364136223846793005n + 1442695040888963407n) & 0xffff_ffff_ffff_ffffn;
    return Number(state >> 32n) / 2 ** 32;
  };
}
