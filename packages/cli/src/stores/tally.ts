import { type DomainPrefix, isRetailPosError } from "@retail-pos/core";
import { WordsOnly, wordsOf } from "../terminal/error-message.js";
import { coloured, jsonOf, print } from "../terminal/output.js";
import { progressOn } from "../terminal/progress.js";
import { grouped } from "../terminal/times.js";
import type { Terminal } from "../terminal/world.js";

/** How a command over many retailers tells what became of each. */
export interface OutcomesOptions {
  readonly terminal: Terminal;
  /** A line of JSON for each retailer. */
  readonly json: boolean | undefined;
  /** The outcomes in the order of their sum, and how each is told. */
  readonly labels: Readonly<Record<string, string>>;
  /** Outcomes that somebody has to act on: each retailer's is told by name. Default none. */
  readonly named?: readonly string[];
}

/** Counts what became of each retailer, tells it, and shows how far the command is. */
export interface Outcomes {
  /**
   * Tells what the work says of a retailer, or how it failed.
   *
   * @throws {Error} the last hundred retailers failed one after the other, because the store did.
   * @throws {WordsOnly} the first hundred failed, whatever the reason.
   */
  of(domainPrefix: DomainPrefix, work: () => Promise<string>): Promise<void>;
  count(outcome: string): number;
  /** Whether this retailer failed; of the first ten thousand that did. */
  hasFailed(domainPrefix: DomainPrefix): boolean;
  /** Starts counting anew, for another time through the same retailers, whose sum stands under this heading. */
  restart(heading: string): void;
  /** Prints the sum, on standard error if standard output is for machines. */
  sum(): Promise<void>;
  /** Prints what follows from it, in the same place. */
  conclude(words: string): Promise<void>;
}

export const FAILED = "failed";

/** A store that is away fails a million times in a row if nobody stops; so does one whose key is missing. */
const MOST_FAILURES_IN_A_ROW = 100;

/** So many failures are remembered, to be told once though a command meets them again each time through. */
const MOST_REMEMBERED = 10_000;

export function outcomes({ terminal, json, labels, named = [] }: OutcomesOptions): Outcomes {
  const progress = progressOn(terminal, terminal.clock);
  const counts = new Map<string, number>();
  const failures = new Map<DomainPrefix, string>();
  let failuresInARow = 0;
  let isNoneGood = true;
  let firstFailure: unknown;
  let heading: string | undefined;

  return {
    async of(domainPrefix, work) {
      const [outcome, error] = await work().then(
        (outcome): [string, unknown?] => [outcome],
        (error: unknown): [string, unknown?] => [FAILED, error],
      );
      counts.set(outcome, (counts.get(outcome) ?? 0) + 1);
      await tell(domainPrefix, outcome, error);
      progress.show(() =>
        entries()
          .map(([name, count]) => `${grouped(count)} ${labels[name]}`)
          .join(" · "),
      );
      isNoneGood &&= outcome === FAILED;
      firstFailure ??= error;
      const isOfTheStore = isRetailPosError(error) && error.code === "store_failed";
      failuresInARow = outcome === FAILED && (isNoneGood || isOfTheStore) ? failuresInARow + 1 : 0;
      if (failuresInARow < MOST_FAILURES_IN_A_ROW) return;
      if (isOfTheStore) throw error;
      throw new WordsOnly(
        `The first ${MOST_FAILURES_IN_A_ROW} failed, all of them; stopped. First: ${wordsOf(firstFailure)}`,
      );
    },
    count: (outcome) => counts.get(outcome) ?? 0,
    hasFailed: (domainPrefix) => failures.has(domainPrefix),
    restart(next) {
      counts.clear();
      heading = next;
    },
    async sum() {
      progress.clear();
      await printSum(
        terminal,
        json === true,
        entries().map(([name, count]) => [labels[name] as string, count]),
        heading,
      );
    },
    async conclude(words) {
      if (json) terminal.stderr.write(`${words}\n`);
      else await print(terminal, words);
    },
  };

  /** The first, which is what the command is for, the failures, and of the others those that there are. */
  function entries(): [name: string, count: number][] {
    const all = Object.keys(labels).map((name): [string, number] => [name, counts.get(name) ?? 0]);
    return all.filter(([name, count], index) => count > 0 || index === 0 || name === FAILED);
  }

  async function tell(domainPrefix: DomainPrefix, outcome: string, error: unknown): Promise<void> {
    const words = error === undefined ? undefined : wordsOf(error);
    const isTold = failures.get(domainPrefix) === words;
    if (words !== undefined && failures.size < MOST_REMEMBERED) failures.set(domainPrefix, words);
    if (json) {
      await print(terminal, jsonOf({ domainPrefix, outcome, error: words }));
      return;
    }
    if (named.includes(outcome)) {
      progress.clear();
      await print(terminal, `${domainPrefix}: ${labels[outcome]}`);
    }
    if (words === undefined || isTold) return;
    progress.clear();
    terminal.stderr.write(`${coloured(terminal.stderr, "red", domainPrefix)}: ${words}\n`);
  }
}

/** Numbers under one another, each with its words; one line of words if nobody looks at a terminal. */
export async function printSum(
  terminal: Terminal,
  json: boolean,
  counts: readonly (readonly [words: string, count: number])[],
  heading?: string,
): Promise<void> {
  const texts = counts.map(([words, count]) => [words, grouped(count)] as const);
  const width = Math.max(...texts.map(([, number]) => number.length));
  const lines = texts.map(([words, number]) => `${number.padStart(width)} ${words}`);
  const headed = heading === undefined ? "" : `${heading}: `;
  if (json) terminal.stderr.write(`${headed}${lines.map((line) => line.trim()).join(", ")}\n`);
  else for (const line of [...(headed ? [headed.trim()] : []), ...lines]) await print(terminal, line);
}
