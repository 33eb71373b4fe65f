import type { World } from "./world.js";

const help = `Usage: retail-pos <command> [options]

  doctor <address>   look at a running application's login, and say what would break

retail-pos <command> --help says more about each.
`;

type Command = (args: string[], world: World) => Promise<number>;

/** Loaded when they are asked for: a command waits for its own parts only. */
const commands: Readonly<Record<string, () => Promise<Command>>> = {
  doctor: async () => (await import("./doctor/command.js")).doctor,
};

/** Runs the command that the arguments name; the result is its exit code. */
export async function main([name, ...args]: string[], world: World): Promise<number> {
  if (name === "--help" || name === "-h" || name === "help") {
    world.stdout.write(help);
    return 0;
  }
  if (name === undefined) {
    world.stderr.write(help);
    return 2;
  }
  const load = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (load) return (await load())(args, world);
  world.stderr.write("retail-pos: there is no such command\nTry retail-pos --help.\n");
  return 2;
}
