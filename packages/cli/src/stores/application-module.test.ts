import { memoryStore } from "@retail-pos/core";
import { describe, expect, test } from "vitest";
import { moduleFile, moduleOf } from "../../testing/module.js";
import { clientOn } from "../../testing/records.js";
import { run } from "../../testing/terminal.js";

const client = clientOn(memoryStore());
/** For modules that import it themselves, as Node does: what is published. */
const core = new URL("../../../core/dist/index.js", import.meta.url).href;

test("a module of CommonJS does as well", async () => {
  const file = moduleFile(
    "module.exports = { client: { ...require('node:process'), status: 0 } };",
    "app.cjs",
  );
  expect((await run(["list", "--client", file])).stderr).toMatch(
    /client .* has no retailers\(\), status\(\)/,
  );
});

describe("wrong use: exit code 2, a word about why, nothing on standard output:", () => {
  test.each<[string, string[], RegExp]>([
    ["no module is named", ["list"], /--client is missing/],
    ["the file is not there", ["list", "--client", "./canary-file.js"], /is not there/],
    ["a flag without a value", ["list", "--client"], /--client/],
    ["an unknown flag", ["copy", "--canary"], /Unknown option/],
    ["a length that is none", ["list", "--due", "canary"], /--due must be a length of time/],
    [
      "a number that is none",
      ["renew-due", "--concurrency", "canary"],
      /--concurrency must be a whole number/,
    ],
    ["words too many", ["list", "canary"], /takes flags only/],
    ["no retailer", ["status"], /domain prefix .* missing/],
    ["two retailers", ["status", "canary", "two"], /only one/],
    ["a retailer that is no label", ["status", "canary.example"], /not one DNS label/],
  ])("%s", async (_name, args, words) => {
    const { exitCode, stdout, stderr } = await run(args);
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: "" });
    expect(stderr).toMatch(words);
    expect(stderr).toMatch(new RegExp(`Try retail-pos ${args[0]} --help\\.\n$`));
    if (args[1] !== "--canary") expect(stderr).not.toContain("canary");
  });

  test.each<[string, string, Record<string, unknown>, RegExp]>([
    ["nothing", "list", {}, /exports no client/],
    ["a client that is none", "list", { client: "canary" }, /client .* has no retailers\(\), status\(\)/],
    [
      "a client that is a promise",
      "list",
      { client: Promise.resolve(client) },
      /client .* is a promise: await it\n/,
    ],
    ["null", "reseal", { store: null }, /exports no store/],
    [
      "a client for a store",
      "reseal",
      { store: client },
      /store .* has no load\(\), save\(\), list\(\), keyOf\(\)/,
    ],
    ["from without to", "copy", { from: memoryStore() }, /exports no to/],
    [
      "a store that cannot list",
      "copy",
      { from: { ...memoryStore(), list: 1 }, to: {} },
      /from .* has no list/,
    ],
  ])("a module that exports %s", async (_name, command, exports, words) => {
    const ran = await run([command, "--client", moduleOf(exports)]);
    expect(ran).toMatchObject({ exitCode: 2, stdout: "", stderr: expect.stringMatching(words) });
    expect(ran.stderr).not.toContain("canary");
  });
});

describe("a module that fails while it is loaded: exit code 1, without what may be a secret:", () => {
  test.each<[string, string, RegExp]>([
    [
      "with a database's address",
      "throw new Error('no route to postgres://shop:canary-1@db.internal/tokens')",
      /failed: no route to \[hidden\], at \/.*retail-pos\.mjs:1:7/,
    ],
    [
      "with an address in a TypeError",
      "throw new TypeError('url is wrong: redis://:canary-2@localhost:6379')",
      /failed: url is wrong: \[hidden\], at /,
    ],
    [
      "with a header that Node repeats",
      "new Headers().append('authorization', 'Bearer canary-5\\n\\u0000x')",
      /failed: \[hidden\] "Bearer \[hidden\] is an invalid header value\., at \/.*retail-pos\.mjs:1:15/,
    ],
    [
      "with an address that Node repeats",
      "await fetch('vault?token=canary-6')",
      /failed: Failed to parse URL from \[hidden\]/,
    ],
    [
      "with lines that look like a frame of ours",
      `throw new TypeError(${JSON.stringify(`canary-7\n    at retailPos (${core}:1:1)`)})`,
      /failed: \[hidden\]/,
    ],
    [
      "with a code",
      "throw Object.assign(new Error('canary-3 refused'), { code: 'ECONNREFUSED' })",
      /ECONNREFUSED/,
    ],
    ["with no error at all", "throw 'canary-4'", /failed: \[hidden\]/],
    [
      "because settings are missing, which are named",
      `import { settingsFromEnv } from ${JSON.stringify(core)};
       settingsFromEnv({ RETAIL_POS_CLIENT_SECRET: "canary-8" });`,
      /failed: The environment is not complete: .* \(RETAIL_POS_BASE_URL, RETAIL_POS_CLIENT_ID, .*\), at /,
    ],
    [
      "because an option is wrong, which is named",
      `import { retailPos } from ${JSON.stringify(core)};
       retailPos({ clientId: "shop", clientSecret: "canary-9", baseUrl: "http://canary-10.example/{domain_prefix}" });`,
      /failed: baseUrl must be https \(http is accepted on loopback hosts only\), at /,
    ],
  ])("%s", async (_name, text, words) => {
    const ran = await run(["list", "--client", moduleFile(text)]);
    expect(ran).toMatchObject({ exitCode: 1, stdout: "", stderr: expect.stringMatching(words) });
    expect(ran.stderr).not.toContain("canary");
  });

  test("because it parses text that is no JSON: the place is where it does", async () => {
    const ran = await run(["list", "--client", moduleFile("\nJSON.parse('{canary-9}');")]);
    expect(ran.stderr).toMatch(/at \/.*retail-pos\.mjs:2:6\n$/);
    expect(ran.stderr).not.toContain("canary");
  });

  test("a module that is still loading when the signal comes", async () => {
    const file = moduleFile("await new Promise(() => {});");
    const ran = await run(["list", "--client", file], { signal: AbortSignal.timeout(50) });
    expect(ran).toMatchObject({ exitCode: 1, stderr: "retail-pos list: stopped before the end\n" });
  });
});
