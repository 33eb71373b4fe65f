import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";
import { lanes } from "./test/support/lanes.js";
import { LongestFirst } from "./test/support/longest-first.js";
import { sources } from "./test/support/sources.js";

const { fast, real, long, examples } = lanes();

// Machines have other things to do, and `FUZZ_RUNS` may ask for millions of cases.
const patience = process.env["FUZZ_RUNS"] ? 3_600_000 : 60_000;

// Tests run on the sources, so a failure points at the line to change; what is
// published (dist/) is built first and is what child processes and browsers see.
export default defineConfig(({ mode }) => ({
  resolve: {
    alias: [...sources].map(([name, source]) => ({ find: new RegExp(`^${name}$`), replacement: source })),
  },
  test: {
    maxWorkers: availableParallelism() + 2, // many a test waits, for a lease to run out or for npm
    sequence: { sequencer: LongestFirst },
    testTimeout: patience,
    expect: { poll: { timeout: patience / 2 } }, // not a second: what is polled for comes from other processes
    hookTimeout: patience, // to remove what npm installed takes longer than ten seconds while the disk is busy
    projects: [
      {
        extends: true,
        test: {
          name: "fast",
          isolate: false, // nothing here outlives its file, and three quarters of the time went into starting anew
          include: [...fast],
          setupFiles: ["test/support/in-process.ts"],
          // `pnpm test:unit`: a tenth of the generated cases.
          env: mode === "quick" ? { FUZZ_SHARE: "0.1" } : {},
        },
      },
      {
        extends: true,
        test: {
          name: "real",
          include: [...real],
          globalSetup: ["test/support/machine.ts"],
        },
      },
      {
        extends: true,
        test: {
          name: "long",
          include: [...long],
          globalSetup: ["test/support/machine.ts"],
        },
      },
      {
        extends: true,
        test: {
          name: "examples",
          include: [...examples],
          globalSetup: ["test/support/machine.ts"],
        },
      },
    ],
  },
}));
