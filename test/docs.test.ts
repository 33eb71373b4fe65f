import { randomUUID } from "node:crypto";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Lock, TokenStore } from "@retail-pos/core";
import { lockContract, storeContract } from "@retail-pos/store-contracts";
import LibsqlDatabase from "libsql/promise";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { commandsOf, problemWithCommand } from "./support/docs/commands.js";
import { compilerProblems } from "./support/docs/compile.js";
import {
  type Block,
  blocksOf,
  documents,
  isOnlyParsed,
  linksOf,
  problemWith,
  programIn,
  root,
} from "./support/docs/documents.js";
import { filesIn } from "./support/files.js";

// What the documents show compiles and runs, the commands they name are there, and their links lead somewhere.

/** `docs/api` is written by a program from the docstrings: its blocks are signatures. */
const written = documents.filter((document) => !document.startsWith("docs/api/"));
const blocks = written.flatMap(blocksOf);
const code = blocks.filter(({ language }) => language === "js" || language === "ts");
/** Of `examples/frameworks/fastify/app.ts`, say: the tests of that folder compile and run it. */
const ofExamples = blocks.filter(({ mark }) => mark.startsWith("examples/"));
const ownCode = code.filter((block) => !ofExamples.includes(block));
/** These tests install what the programs import, and compile them there. */
const compiled = ownCode.filter(
  ({ mark }) => !/^run by test\/(?:prisma-and-drizzle|next)\.long\.test\.ts/.test(mark),
);
const nameOf = ({ document, line }: Block) => `${document}:${line}`;

describe("every block of code compiles against the built packages:", () => {
  let problems: Map<Block, string[]>;
  const sample = { heading: "", mark: "" };
  const mistakes: [string, Block, string][] = [
    [
      "an option of another name",
      { ...sample, document: "a.md", line: 3, language: "js", text: "sealedStore(store, { key: keys });\n" },
      "a.md:3: TS2561",
    ],
    [
      "a method of another name",
      { ...sample, document: "b.md", line: 7, language: "js", text: '\nawait pos.forget("x");\n' },
      "b.md:8: TS2339",
    ],
    [
      "a type that is not core's any more",
      {
        ...sample,
        document: "c.md",
        line: 1,
        language: "ts",
        text: "type Lock = <T>(key: string) => Promise<T>;\n",
      },
      "c.md:2: TS2322",
    ],
    [
      "what is no JavaScript, where it is only parsed",
      {
        ...{ ...sample, mark: "only parsed by test/docs.test.ts: it is bad" },
        ...{ document: "d.md", line: 5, language: "js", text: "const = other;\n" },
      },
      "d.md:5: SyntaxError: Unexpected token '='",
    ],
  ];

  beforeAll(() => {
    problems = compilerProblems(compiled);
  }, 60_000);

  test.each(compiled.map((block) => [nameOf(block), block] as const))("%s", (_name, block) => {
    expect(problems.get(block)).toEqual([]);
  });

  test.each(mistakes)("%s would be noticed", (_name, block, problem) => {
    expect(compilerProblems([block]).get(block)?.[0]).toContain(problem);
  });
});

describe("every program with a session", () => {
  const withSession = code.filter(({ text }) => /from "(?:express|koa)-session"/.test(text));

  test.each(withSession.map((block) => [nameOf(block), block.text]))(
    "%s names its cookie so that no other host can set it, and has no secret that everybody knows",
    (_name, text) => {
      expect(text).toContain('"__Host-session"');
      expect(text).toContain("SESSION_SECRET");
      expect(text).not.toMatch(/secret: "|SESSION_SECRET["\]]* \?\? "./);
    },
  );

  test("there are some", () => expect(withSession.length).toBeGreaterThan(4));
});

describe("every program that", () => {
  const cookies = code.filter(({ text }) =>
    /SignedCookie\(|createCookie|cookieName|"set-cookie": cookie/.test(text),
  );
  const pools = code.filter(({ text }) => text.includes("new pg.Pool("));

  test.each(cookies.map((block) => [nameOf(block), block.text]))(
    "sets a cookie of its own sets one that no other host can set: %s",
    (_name, text) => expect(text).toMatch(/__Host-/),
  );

  test.each(pools.map((block) => [nameOf(block), block.text]))(
    "opens a pool listens for its errors, which would end the process: %s",
    (_name, text) => expect(text).toMatch(/pool\.on\("error"/),
  );

  test("does so is found", () => {
    expect(cookies.length).toBeGreaterThan(2);
    expect(pools.length).toBeGreaterThan(2);
  });
});

describe("every whole program is run:", () => {
  const programs = ownCode.filter(({ text, mark }) => /^import /m.test(text) || mark !== "");

  test.each(programs.map((block) => [nameOf(block), block] as const))(
    "%s says by which test",
    (_name, block) => {
      const { document, mark } = block;
      if (isOnlyParsed(block)) return;
      if (/^only compiled by test\/docs\.test\.ts: \S/.test(mark)) return;
      const runs =
        /^run by (test\/(?:readme|docs|frameworks|accounts|(?:moving-over|typescript|prisma-and-drizzle|next|nginx)\.long)\.test\.ts)(?: as \S+)?$/;
      const [, testFile] = runs.exec(mark) ?? [];
      expect(testFile, "a comment above the block: <!-- run by test/readme.test.ts -->").toBeDefined();
      expect(readFileSync(join(root, testFile as string), "utf8")).toContain(`"${document}"`);
    },
  );
});

describe("every file that is shown is that file:", () => {
  test.each(ofExamples.map((block) => [nameOf(block), block.mark, block.text]))(
    "%s is %s",
    (_name, file, text) => {
      expect(text).toBe(readFileSync(join(root, file), "utf8"));
    },
  );

  test("each program of examples/frameworks is shown", () => {
    const shown = new Set(ofExamples.map(({ mark }) => mark.split("/").slice(0, 3).join("/")));
    const folders = readdirSync(join(root, "examples/frameworks"));
    expect([...shown].sort()).toEqual(folders.map((name) => `examples/frameworks/${name}`).sort());
  });
});

describe("every command that is named is there:", () => {
  const commands = written.flatMap((document) =>
    commandsOf(document).map((command) => [document, command] as const),
  );

  test.each(commands)("%s: %s", (document, command) => {
    expect(problemWithCommand(command, document)).toBeUndefined();
  });

  test.each([
    ["npx -y pnpm dmeo", 'there is no script "dmeo"'],
    ["npx @retail-pos/sandbox --life 60", "there is no --life"],
    ["npx @retail-pos/cli doctor http://localhost:3000/login --lifetime 60", "there is no --lifetime"],
    ["PORT=1 npx -y pnpm --filter example-koa-service begin", 'there is no script "begin"'],
    ["npm install @retail-pos/core kao", "nothing is known of kao"],
    ["node packages/sandbox/dist/main.js", "there is no packages/sandbox/dist/main.js"],
  ])("%s would be noticed", (command, problem) => {
    expect(problemWithCommand(command, "README.md")).toBe(problem);
  });
});

describe("every link leads somewhere:", () => {
  test.each(documents)("%s", (document) => {
    const broken = linksOf(document).filter(({ target }) => problemWith(document, target));
    expect(broken.map(({ line, target }) => `${document}:${line}: ${target}`)).toEqual([]);
  });

  test.each([
    ["docs/gone.md", "there is no such file"],
    ["packages/core#gone", "there is no such heading"],
  ])("%s would be noticed", (target, problem) => {
    expect(problemWith("README.md", target)).toBe(problem);
  });
});

describe("docs/service.md has what the sources cite:", () => {
  const service = readFileSync(join(root, "docs/service.md"), "utf8");
  const sources = filesIn("packages").filter((file) => /\/src\/.*\.ts$/.test(file));
  const one = String.raw`(?:\d\.\d|R\d+|behaviour \d+|section \d+)`;
  const cited = sources.flatMap((file) =>
    [
      ...readFileSync(join(root, file), "utf8").matchAll(new RegExp(`\\((${one}(?:, ${one})*)\\)`, "g")),
    ].flatMap(([, names = ""]) => names.split(", ")),
  );
  const isThere = (name: string) => {
    const number = name.replace(/^\D+ /, "");
    if (name.startsWith("behaviour")) return new RegExp(`^${number}\\. `, "m").test(service);
    if (name.startsWith("section")) return service.includes(`\n## ${number}. `);
    return new RegExp(String.raw`(?:\*\*|\(|\| )${name.replace(".", "\\.")}\b`).test(service);
  };

  test.each([...new Set(cited)].sort())("%s", (name) => {
    expect(isThere(name)).toBe(true);
  });

  test.each(["3.1", "R9", "behaviour 17", "section 3"])("%s would be noticed", (name) => {
    expect(isThere(name)).toBe(false);
  });
});

describe("docs/own-store.md: its store", () => {
  const folder = mkdtempSync(join(tmpdir(), "retail-pos-own-store-"));
  const opened: { close(): void }[] = [];
  afterAll(() => {
    for (const database of opened) database.close();
    rmSync(folder, { recursive: true });
  });

  async function tokens() {
    const { libsqlTokens } = await moduleIn("docs/own-store.md");
    const database = new LibsqlDatabase(join(folder, "tokens.db"), {});
    opened.push(database);
    const made = libsqlTokens?.(database) as { store: TokenStore; lock: Lock; migrate: () => Promise<void> };
    await made.migrate();
    return made;
  }

  storeContract(test, async () => (await tokens()).store, { shared: true });
  lockContract(test, async () => (await tokens()).lock, { shared: true });

  test("fails as ours do", async () => {
    const { store } = await tokens();
    opened.at(-1)?.close();
    await expect(store.claim?.("login", 1000)).rejects.toMatchObject({
      code: "store_failed",
      operation: "claim",
      message: expect.stringMatching(/^libSQL could not claim a key: ./),
    });
  });
});

/** The block of a document that is run here, as a module. */
async function moduleIn(document: string): Promise<Record<string, (...args: unknown[]) => unknown>> {
  const folder = join(root, "node_modules", ".docs", "run"); // there, so that the packages are found
  mkdirSync(folder, { recursive: true });
  const file = join(folder, `${randomUUID()}.mjs`);
  writeFileSync(file, programIn(document, "test/docs.test.ts"));
  return import(file);
}
