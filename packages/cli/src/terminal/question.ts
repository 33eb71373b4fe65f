import { createInterface } from "node:readline/promises";
import type { Terminal } from "./world.js";

/** Asks a question that only "y" or "yes" says yes to. The end of the input, and Ctrl-C, say no. */
export async function isConfirmed({ stdin, stderr, signal }: Terminal, question: string): Promise<boolean> {
  stderr.write(`${question} [y/N] `);
  const { isTTY } = stdin as Partial<NodeJS.ReadStream>;
  const lines = createInterface({ input: stdin, signal });
  try {
    for await (const line of lines) return /^y(es)?$/i.test(line.trim());
    return false;
  } finally {
    lines.close();
    if (!isTTY) stderr.write("\n"); // nobody has pressed Enter here
  }
}
