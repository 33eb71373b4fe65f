import { describe, expect, test } from "vitest";
import { lanes } from "./support/lanes.js";

const { fast, real, long, examples } = lanes();

test("each test file is in one lane", () => {
  const all = [...fast, ...real, ...long, ...examples];
  expect(new Set(all).size).toBe(all.length);
  expect(fast.length).toBeGreaterThan(40);
  expect(real.length).toBeGreaterThan(40);
});

test.each([
  { file: "packages/core/src/endpoint/token-response.test.ts", lane: fast, why: "imports values alone" },
  { file: "packages/core/src/tokens/stories/races.test.ts", lane: fast, why: "has a service in memory" },
  { file: "packages/core/src/tokens/stories/process.test.ts", lane: real, why: "starts a process itself" },
  { file: "packages/express-bearer/src/bearer.test.ts", lane: real, why: "starts a server in a helper" },
  { file: "packages/store-redis/src/lock.test.ts", lane: real, why: "talks to Redis in a helper" },
  { file: "test/next.long.test.ts", lane: long, why: "has a name that says so" },
  { file: "examples/koa-service/src/app.test.ts", lane: examples, why: "is of an example" },
  { file: "test/matrix.test.ts", lane: real, why: "imports packages that start servers" },
])("what a file imports decides its lane: $file $why", ({ file, lane }) => {
  expect(lane).toContain(file);
});

describe("in the fast lane, where this test runs", () => {
  // Named in a way that does not move this file to the other lane.
  const { createServer } = process.getBuiltinModule("node:http");
  const { spawn } = process.getBuiltinModule("node:child_process");

  test("no server listens", () => {
    expect(() => createServer().listen(0)).toThrow("runs in the fast lane and needs a server");
  });

  test("no call leaves", async () => {
    await expect(fetch("http://127.0.0.1:65000")).rejects.toMatchObject({
      cause: expect.objectContaining({ message: expect.stringContaining("needs a connection") }),
    });
  });

  test("no process is started", () => {
    expect(() => spawn(process.execPath, ["--version"])).toThrow("needs another process");
  });
});
