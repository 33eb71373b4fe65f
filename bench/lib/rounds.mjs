/**
 * Runs `once(contestant, round)` for every contestant, round by round and one after the other, in a new order each
 * round: nobody always runs first, or always behind the same neighbour.
 *
 * @returns {Promise<Map<any, any[]>>} the results of each contestant, one per round.
 */
export async function interleaved(contestants, rounds, once) {
  const results = new Map(contestants.map((contestant) => [contestant, []]));
  for (let round = 0; round < rounds; round += 1) {
    for (const contestant of shuffled(contestants)) {
      results.get(contestant).push(await once(contestant, round));
    }
  }
  return results;
}

/** A copy in random order: each order is as likely as any other. */
export function shuffled(all) {
  const left = [...all];
  return all.map(() => left.splice(Math.floor(Math.random() * left.length), 1)[0]);
}

export function median(values) {
  const sorted = [...values].sort((one, other) => one - other);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/** What happened in the worst round: of what must never happen, a median would hide that it did. */
export const most = (values) => Math.max(...values);
export const least = (values) => Math.min(...values);

/**
 * How much of the floor each contestant took: the median over the rounds of the ratio within one round,
 * so that what slows the whole machine down for a while cancels out.
 *
 * @param results what `interleaved` returned.
 * @param floor the contestant to divide by.
 * @param figure takes the number out of one result.
 * @returns {Map<any, number>}
 */
export function ratioTo(results, floor, figure = (result) => result) {
  const base = results.get(floor).map(figure);
  return new Map(
    [...results].map(([contestant, rounds]) => [
      contestant,
      median(rounds.map((result, round) => figure(result) / base[round])),
    ]),
  );
}
