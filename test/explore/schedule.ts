/**
 * A schedule, as the places where it leaves the straight way: at which choice, and what was chosen instead of the
 * first option. Everything else follows.
 */
export type Schedule = readonly (readonly [at: number, chosen: number])[];

/** `4:2,11:1`; the straight way is `-`. */
export function written(schedule: Schedule): string {
  return schedule.length === 0 ? "-" : schedule.map(([at, chosen]) => `${at}:${chosen}`).join(",");
}

/** @throws {TypeError} it is not written like that. */
export function read(text: string): Schedule {
  if (text === "-" || text === "") return [];
  return text.split(",").map((part) => {
    const match = /^(\d+):(\d+)$/.exec(part);
    if (!match) throw new TypeError(`${part} is no choice; one looks like 4:2`);
    return [Number(match[1]), Number(match[2])] as const;
  });
}
