import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

const source = (path: string) => fileURLToPath(new URL(path, import.meta.url));

// Tests run on the sources, so a failure points at the line to change; what is
// published (dist/) is built first and is what child processes and browsers see.
export default defineConfig({
  resolve: {
    alias: [
      {
        find: "@retail-pos/sandbox/contracts",
        replacement: source("packages/sandbox/src/contracts/index.ts"),
      },
      { find: "@retail-pos/sandbox", replacement: source("packages/sandbox/src/index.ts") },
      { find: "@retail-pos/core", replacement: source("packages/core/src/index.ts") },
      { find: "@retail-pos/express-bearer", replacement: source("packages/express-bearer/src/index.ts") },
      { find: "@retail-pos/koa-bearer", replacement: source("packages/koa-bearer/src/index.ts") },
      { find: "@retail-pos/store-postgres", replacement: source("packages/store-postgres/src/index.ts") },
      { find: "@retail-pos/store-redis", replacement: source("packages/store-redis/src/index.ts") },
      { find: "@retail-pos/sealed-store", replacement: source("packages/sealed-store/src/index.ts") },
      { find: "@retail-pos/store-sqlite", replacement: source("packages/store-sqlite/src/index.ts") },
      { find: "passport-retail-pos", replacement: source("packages/passport-retail-pos/src/index.ts") },
    ],
  },
  test: {
    include: [
      "packages/*/src/**/*.test.ts",
      "examples/*/*.test.js",
      "examples/*/src/**/*.test.ts",
      "test/**/*.test.ts",
    ],
    globalSetup: ["test/support/machine.ts"],
    testTimeout: 60_000, // real processes and databases, on machines that have other things to do,
  },
});
