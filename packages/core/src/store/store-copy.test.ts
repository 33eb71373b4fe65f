import { describe, expect, test } from "vitest";
import { parseDomainPrefix } from "../vocabulary/domain-prefix.js";
import type { TokenSet } from "../vocabulary/token-set.js";
import { type Question, StoreCopy } from "./store-copy.js";

const OLD = set("old");
const NEW = set("new");

/** Plays questions and answers: "ask a" sends the question a, "a OLD" answers it. A second passes between two steps. */
function played(...steps: string[]) {
  const copy = new StoreCopy();
  const questions = new Map<string, Question>();
  const taken: boolean[] = [];
  let now = 0;
  for (const step of steps) {
    const [word = "", said = ""] = step.split(" ");
    now += 1000;
    if (word === "ask") questions.set(said, copy.ask(now));
    else if (word === "distrust") copy.distrust();
    else
      taken.push(
        copy.take(said === "OLD" ? OLD : said === "NEW" ? NEW : undefined, questions.get(word) as Question),
      );
  }
  return {
    taken,
    set: copy.set?.version,
    stands: copy.stands,
    ageMs: copy.ageMs(now),
    answered: copy.answered,
  };
}

describe("one question after the other", () => {
  test.each<[string[], ReturnType<typeof played>]>([
    [["ask a", "a OLD"], { taken: [true], set: "old", stands: true, ageMs: 1000, answered: 1 }],
    [
      ["ask a", "a OLD", "ask b", "b NEW"],
      { taken: [true, true], set: "new", stands: true, ageMs: 1000, answered: 2 },
    ],
    [
      ["ask a", "a OLD", "ask b", "b nothing"],
      { taken: [true, true], set: undefined, stands: true, ageMs: 1000, answered: 2 },
    ],
    [
      ["ask a", "a OLD", "distrust"],
      { taken: [true], set: "old", stands: false, ageMs: Number.POSITIVE_INFINITY, answered: 1 },
    ],
  ])("%j", (steps, end) => expect(played(...steps)).toEqual(end));
});

describe("two questions at once", () => {
  test.each<[string[], boolean[], string | undefined, boolean]>([
    [["ask a", "ask b", "a OLD", "b OLD"], [true, true], "old", true],
    [["ask a", "ask b", "b OLD", "a OLD"], [true, true], "old", true],
    [["ask a", "ask b", "a OLD", "b NEW"], [true, false], undefined, false],
    [["ask a", "ask b", "b NEW", "a OLD"], [true, false], undefined, false],
    [["ask a", "ask b", "a nothing", "b NEW"], [true, false], undefined, false],
    [["ask z", "z OLD", "ask a", "ask b", "a OLD", "b NEW"], [true, true, true], "new", true],
    [["ask a", "ask b", "a OLD", "b NEW", "ask c", "c NEW"], [true, false, true], "new", true],
    [["ask a", "ask b", "a OLD", "ask c", "b NEW", "c NEW"], [true, false, false], undefined, false],
  ])("%j", (steps, taken, set, stands) => expect(played(...steps)).toMatchObject({ taken, set, stands }));

  test("an older answer that says the same makes the copy no older", () => {
    expect(played("ask a", "ask b", "b OLD", "a OLD").ageMs).toBe(2000);
  });
});

function set(version: string): TokenSet {
  const domainPrefix = parseDomainPrefix("shop");
  return { domainPrefix, access: { value: version }, refreshToken: version, issuedAt: 0, version };
}
