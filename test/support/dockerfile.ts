import { execFile } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readFileSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import { promisify } from "node:util";

/** What a container of the image would run. */
export interface Image {
  readonly command: readonly string[];
  readonly folder: string;
  readonly env: Readonly<Record<string, string>>;
  /** `undefined`: whoever runs the tests, who is not root. */
  readonly uid: number | undefined;
  readonly gid: number | undefined;
}

/** One `FROM` and what follows it. */
interface Stage {
  readonly name: string;
  /** What `WORKDIR` stands for; empty at first. */
  readonly folder: string;
  workdir: string;
  env: Record<string, string>;
  user: string;
  command: readonly string[];
}

const NOBODY = "65534:65534";
const isRoot = process.getuid?.() === 0;

/**
 * Does what a Dockerfile says, without Docker: each stage in an empty folder beside the context, `RUN` by the shell.
 * An instruction that it does not know is an error. Only root can be somebody else; others stay who they are.
 *
 * @param runEnv what `RUN` finds in its environment, beside the image's own.
 * @param afterRun looks at the stage's folder after each `RUN`.
 */
export async function buildImage(
  context: string,
  runEnv: NodeJS.ProcessEnv,
  afterRun: (folder: string) => void = () => {},
): Promise<Image> {
  const stages: Stage[] = [];
  for (const { keyword, rest } of instructionsIn(readFileSync(join(context, "Dockerfile"), "utf8"))) {
    if (keyword === "FROM") stages.push(newStage(rest, `${context}.stage${stages.length}`));
    else await follow(keyword, rest, { stage: stages.at(-1) as Stage, stages, context, runEnv });
    if (keyword === "RUN") afterRun((stages.at(-1) as Stage).folder);
  }
  const { folder, command, env, user } = stages.at(-1) as Stage;
  const [uid, gid] = user.split(":").map(Number);
  return { command, folder, env, uid: isRoot ? uid : undefined, gid: isRoot ? gid : undefined };
}

interface Around {
  readonly stage: Stage;
  readonly stages: readonly Stage[];
  readonly context: string;
  readonly runEnv: NodeJS.ProcessEnv;
}

async function follow(keyword: string, rest: string, around: Around): Promise<void> {
  const { stage, runEnv } = around;
  switch (keyword) {
    case "WORKDIR":
      stage.workdir = rest;
      return;
    case "ENV":
      for (const pair of rest.split(" ")) stage.env[pair.split("=")[0] as string] = pair.split("=")[1] ?? "";
      return;
    case "COPY":
      return copy(rest.split(" "), around);
    case "RUN":
      return run(rest, stage, runEnv);
    case "USER":
      stage.user = rest;
      return;
    case "CMD":
      stage.command = JSON.parse(rest);
      return;
    case "EXPOSE":
      return;
    default:
      throw new Error(`Nothing is known of ${keyword}`);
  }
}

function newStage(from: string, folder: string): Stage {
  const [, , name = ""] = from.split(" ");
  mkdirSync(folder); // not there yet, so it is empty
  return { name, folder, workdir: "", env: {}, user: "0:0", command: [] };
}

function copy(words: readonly string[], { stage, stages, context }: Around): void {
  const [, other] = /^--from=(.+)/.exec(words[0] ?? "") ?? [];
  const from = stages.find(({ name }) => name === other);
  const [to = "", ...sources] = (other ? words.slice(1) : words).toReversed();
  for (const source of sources) {
    if (!from && ignoredIn(context).includes(source)) throw new Error(`.dockerignore leaves out ${source}`);
    const path = from ? inside(from, source) : join(context, source);
    if (!existsSync(path)) throw new Error(`COPY: there is no ${source}`);
    // A folder's content goes into the folder named last; a file, into it under its own name.
    const target = join(stage.folder, to);
    cpSync(path, statSync(path).isDirectory() ? target : join(target, basename(source)), {
      recursive: true,
      verbatimSymlinks: true,
    });
  }
}

/** As root in the stage's folder, which is where all paths have to lead. */
async function run(
  script: string,
  { folder, env, workdir, user }: Stage,
  runEnv: NodeJS.ProcessEnv,
): Promise<void> {
  if (!workdir) throw new Error(`RUN before WORKDIR: ${script}`);
  if (user !== "0:0") throw new Error(`RUN after USER: ${script}`);
  if (/(^|\s)(\/|~|\.\.)/.test(script)) throw new Error(`RUN outside of ${workdir}: ${script}`);
  const own = `${process.getuid?.()}:${process.getgid?.()}`;
  const possible = isRoot ? script : script.replaceAll(NOBODY, own);
  await promisify(execFile)("sh", ["-ec", possible], { cwd: folder, env: { ...runEnv, ...env } });
}

/** An absolute path of a stage. */
function inside({ folder, workdir }: Stage, path: string): string {
  if (!path.startsWith(`${workdir}/`)) throw new Error(`COPY from outside of ${workdir}: ${path}`);
  return join(folder, path.slice(workdir.length));
}

const ignoredIn = (context: string) => readFileSync(join(context, ".dockerignore"), "utf8").split("\n");

function instructionsIn(text: string): { keyword: string; rest: string }[] {
  return text
    .replaceAll("\\\n", " ")
    .split("\n")
    .filter((line) => line.trim() && !line.startsWith("#"))
    .map((line) => {
      const [, keyword = "", rest = ""] = /^([A-Z]+) (.*)$/.exec(line) ?? [];
      return { keyword, rest };
    });
}
