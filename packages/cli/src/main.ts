import { readFileSync } from "node:fs";
import { wordsOf } from "./terminal/error-message.js";
import { READER_GONE, type Terminal } from "./terminal/world.js";
import { WrongUse } from "./terminal/wrong-use.js";

const help = `Usage: retail-pos <command> [options]

  doctor <address>   look at a running application's login, and say what would break

With an application's own store (--client <module>):

  list               the connected retailers, and who of them has to log in again
  status <prefix>    one retailer
  renew-due          renew the tokens that are due
  disconnect <...>   forget retailers
  copy               from one store to another
  seal               seal plain tokens, after the store has become a sealed one
  unseal             the way back
  reseal             seal all tokens with the first key

retail-pos <command> --help says more about each; --version which version this is.

Exit code: 0; 1 if something failed; 2 if the command makes no sense, and nothing was done.
`;

interface Command {
  run(args: string[], terminal: Terminal): Promise<number>;
  readonly help: string;
}

/** Loaded when they are asked for: a command waits for its own parts only. */
const commands: Readonly<Record<string, () => Promise<Command>>> = {
  doctor: () => import("./doctor/command.js"),
  list: () => import("./commands/list.js"),
  status: () => import("./commands/status.js"),
  "renew-due": () => import("./commands/renew-due.js"),
  disconnect: () => import("./commands/disconnect.js"),
  copy: () => import("./commands/copy.js"),
  seal: () => import("./commands/seal.js"),
  unseal: () => import("./commands/unseal.js"),
  reseal: () => import("./commands/reseal.js"),
};

/** Runs the command that the arguments name; the result is its exit code. */
export async function main([name, ...args]: string[], terminal: Terminal): Promise<number> {
  const { stdout, stderr } = terminal;
  if (name === "--help" || name === "-h" || name === "help") {
    stdout.write(help);
    return 0;
  }
  if (name === "--version") {
    stdout.write(`${version()}\n`);
    return 0;
  }
  if (name === undefined) {
    stderr.write(help);
    return 2;
  }
  const load = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (load) return runCommand(name, await load(), args, terminal);
  const names = Object.keys(commands).join(", ");
  stderr.write(`retail-pos: there is no such command; there are ${names}\nTry retail-pos --help.\n`);
  return 2;
}

async function runCommand(
  name: string,
  command: Command,
  args: string[],
  terminal: Terminal,
): Promise<number> {
  const { stdout, stderr, signal } = terminal;
  if (args.some((word) => word === "--help" || word === "-h")) {
    stdout.write(command.help);
    return 0;
  }
  try {
    return await command.run(args, terminal);
  } catch (error) {
    if (signal.aborted) {
      if (signal.reason !== READER_GONE) stderr.write(`retail-pos ${name}: stopped before the end\n`);
      return 1;
    }
    const isWrongUse = error instanceof WrongUse;
    stderr.write(`retail-pos ${name}: ${wordsOf(error)}\n`);
    if (isWrongUse) stderr.write(`Try retail-pos ${name} --help.\n`);
    return isWrongUse ? 2 : 1;
  }
}

function version(): string {
  return JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")).version;
}
