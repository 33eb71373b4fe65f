import { execFile } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { blocksOf, root } from "../docs/documents.js";
import { install } from "../packed/install.js";
import { newest } from "../packed/versions.js";

/** A folder of somebody who uses an ORM: what the document shows is in it, and installed from npm what that needs. */
export interface Project {
  read(file: string): string;
  write(file: string, text: string): void;
  /**
   * Runs lines of a shell, which finds the commands that were installed, on a database. Answers what was printed, also
   * by a command that failed.
   */
  run(lines: string, database: string): Promise<string>;
  /** Compiles the programs, and runs `program.test.ts`. Answers what it printed, if all tests passed. */
  test(database: string): Promise<string>;
}

interface Wanted {
  readonly document: string;
  /** Parent of the folder. */
  readonly folder: string;
  /** Its name, and what the document's marks begin with. */
  readonly name: string;
  /** Of our packages that it needs. */
  readonly tarballs: ReadonlyMap<string, string>;
  readonly dependencies: Readonly<Record<string, string>>;
  readonly env?: Readonly<Record<string, string>>;
}

export async function newProject(wanted: Wanted): Promise<Project> {
  const { document, folder, name, tarballs, dependencies, env } = wanted;
  const place = join(folder, name);
  const others = Object.fromEntries(
    ["pg", "@types/pg", "@types/node"].map((each) => [each, newest[each] as string]),
  );
  const ours = Object.fromEntries([...tarballs].map(([each, file]) => [each, `file:${file}`]));
  await install(place, { ...dependencies, ...others, ...ours }, { type: "module" });
  write("tsconfig.json", JSON.stringify({ compilerOptions, include: ["src"] }));
  for (const [file, text] of filesIn(document, name)) write(file, text);

  return {
    read: (file) => readFileSync(join(place, file), "utf8"),
    write,
    run: (lines, database) =>
      run(lines, { ...env, DATABASE_URL: database }).catch(({ stdout, stderr }) => stdout + stderr),
    async test(database) {
      await run(`${join(root, "node_modules/.bin/tsc")} --project .`);
      return run("node --test --test-reporter=tap out/program.test.js", { DATABASE_URL: database });
    },
  };

  function write(file: string, text: string): void {
    mkdirSync(dirname(join(place, file)), { recursive: true });
    writeFileSync(join(place, file), text);
  }

  /** Without the rest of our environment: if it names CI, Prisma refuses to ask. */
  async function run(lines: string, more: NodeJS.ProcessEnv = {}): Promise<string> {
    const { PATH: path, HOME } = process.env;
    const PATH = `${join(place, "node_modules/.bin")}:${path}`;
    const { stdout, stderr } = await promisify(execFile)("sh", ["-c", `set -e; exec </dev/null; ${lines}`], {
      cwd: place,
      env: { PATH, HOME, ...more },
      timeout: 300_000,
    });
    return stdout + stderr;
  }
}

const compilerOptions = {
  ...{ target: "es2023", module: "nodenext", types: ["node"], strict: true, skipLibCheck: true },
  ...{ rootDir: "src", outDir: "out" },
};

/** The blocks marked `as drizzle/src/db.ts`, say, or `as both/src/db.ts`. */
function filesIn(document: string, name: string): [file: string, text: string][] {
  return blocksOf(document).flatMap(({ mark, text }) => {
    const [, whose, file] = / as (\w+)\/(\S+)$/.exec(mark) ?? [];
    return file !== undefined && (whose === name || whose === "both") ? [[file, text]] : [];
  });
}
