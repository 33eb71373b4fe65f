import { expect, test } from "vitest";
import { HISTORIES, isPossible, unexplained } from "./engines.mjs";

// `pnpm histories` plays all of them. One of each engine shows here that they can be played.
const SHORT = ["redis-failover-wait", "postgres-restart", "sqlite-kill"];

for (const history of HISTORIES.filter(({ name }) => SHORT.includes(name))) {
  // With NO_SKIP=1 nothing may be skipped: the machine has what they need.
  const isSkipped = !process.env["NO_SKIP"] && !isPossible(history);
  test.skipIf(isSkipped)(
    `${history.engine}: ${history.fault}: every refresh token is spent, stored, or in its window`,
    { timeout: 180_000 },
    async () => {
      const { issued, lost } = await history.run();
      expect(issued).toBeGreaterThan(8);
      expect(unexplained(history, lost)).toEqual([]);
    },
  );
}
