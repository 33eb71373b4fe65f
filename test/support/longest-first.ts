import { BaseSequencer, type TestSpecification } from "vitest/node";

/** Each takes minutes. If it began last, the other workers would have nothing left to do meanwhile. */
const LONGEST = ["copied-out", "next", "typescript", "explore", "million"].map(
  (name) => `/${name}.long.test.ts`,
);

/** Runs the longest files first. Vitest knows from an earlier run how long each takes, but not on a new machine. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const isLongest = ({ moduleId }: TestSpecification) => LONGEST.some((name) => moduleId.endsWith(name));
    return [...sorted.filter(isLongest), ...sorted.filter((file) => !isLongest(file))];
  }
}
