import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

/**
 * Runs `file` in a process of its own, sends it `input`, and resolves with the one answer it gives
 * (see `answering`). Rejects with what it wrote to stderr when it ends without an answer.
 *
 * @param file a URL, or a path; usually `new URL("./worker.mjs", import.meta.url)`.
 * @param input anything structured clone can carry, a `Map` too.
 */
export function inFreshProcess(
  file,
  input,
  { execArgv = [], env = {}, args = [], execPath = process.execPath } = {},
) {
  return new Promise((resolve, reject) => {
    const child = fork(file instanceof URL ? fileURLToPath(file) : file, args, {
      execArgv,
      execPath,
      env: { ...process.env, NODE_ENV: "production", ...env },
      serialization: "advanced",
      stdio: ["ignore", "inherit", "pipe", "ipc"],
    });
    let answer;
    let complaint = "";
    child.stderr.setEncoding("utf8").on("data", (text) => {
      complaint = (complaint + text).slice(-4000);
    });
    child.once("message", (message) => {
      answer = message;
    });
    child.once("error", reject);
    child.once("exit", (code, signal) => {
      if (answer) resolve(answer.result);
      else reject(new Error(`${file} ended with ${signal ?? code} and no answer\n${complaint}`));
    });
    child.send({ input }, (error) => error && reject(error));
  });
}

/** The other side: does `work` with the input, and answers with what it returns. What it throws ends the process. */
export function answering(work) {
  process.once("message", async ({ input }) => {
    const result = await work(input);
    process.send({ result }, () => process.exit());
  });
}

/**
 * Starts `file` as a process that takes several commands (see `commanded`); `ask(name, argument)` resolves with the
 * answer, `child` is Node's own object. The command `start`, if there is one, is given `input` before this resolves.
 */
export async function startCommanded(
  file,
  input,
  { execArgv = [], env = {}, execPath = process.execPath } = {},
) {
  const child = fork(file instanceof URL ? fileURLToPath(file) : file, [], {
    execArgv,
    execPath,
    env: { ...process.env, NODE_ENV: "production", ...env },
    serialization: "advanced",
  });
  const waiting = new Map();
  let lastId = 0;
  const ready = new Promise((resolve, reject) => {
    child.once("exit", (code, signal) => {
      const error = new Error(`${file} ended with ${signal ?? code}`);
      reject(error);
      for (const { reject } of waiting.values()) reject(error);
    });
    child.on("message", ({ id, result, error }) => {
      if (id === undefined) return resolve();
      const { resolve: answered, reject: failed } = waiting.get(id);
      waiting.delete(id);
      if (error === undefined) answered(result);
      else failed(new Error(error));
    });
  });
  const ask = async (name, argument) => {
    lastId += 1;
    const id = lastId;
    return new Promise((resolve, reject) => {
      waiting.set(id, { resolve, reject });
      child.send({ id, name, argument });
    });
  };
  await ready;
  if (input !== undefined) await ask("start", input);
  return {
    ask,
    child,
    async close() {
      child.disconnect();
      await once(child, "exit");
    },
  };
}

/** The other side. The process ends with its parent's `close`. */
export function commanded(commands) {
  process.on("message", async ({ id, name, argument }) => {
    try {
      process.send({ id, result: await commands[name](argument) });
    } catch (error) {
      process.send({ id, error: error.stack });
    }
  });
  process.once("disconnect", () => process.exit());
  process.send({ ready: true });
}
