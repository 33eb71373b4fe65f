// A process that stays, and does one thing after the other as it is told. (lib/process.mjs: one thing, then it ends.)
import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";

/** Resolves, once the process is up, with `ask(command, argument)`, which resolves with the command's result. */
export async function startProcess(file, { execArgv = [], env = {} } = {}) {
  const child = fork(fileURLToPath(file), {
    execArgv,
    env: { ...process.env, NODE_ENV: "production", ...env },
    serialization: "advanced",
  });
  let settle;
  const nextMessage = () =>
    new Promise((resolve) => {
      settle = resolve;
    });
  child.on("message", (message) => settle(message));
  child.on("exit", () => settle({ error: `${file} ended` }));
  await nextMessage();
  return {
    async ask(command, argument) {
      const answer = nextMessage();
      if (child.connected) child.send({ command, argument });
      else settle({ error: `${file} is gone` });
      const { result, error } = await answer;
      if (error) throw new Error(error);
      return result;
    },
  };
}

/** The other side. `close` is the last command, and is also run when whoever started the process is gone. */
export function obeying(commands) {
  process.on("message", async ({ command, argument }) => {
    try {
      process.send({ result: await commands[command](argument) });
    } catch (error) {
      process.send({ error: error.stack });
    }
    if (command === "close") process.exit();
  });
  process.once("disconnect", () => commands.close().finally(() => process.exit()));
  process.send({ result: "up" });
}
