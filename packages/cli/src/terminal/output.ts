import { styleText } from "node:util";
import type { Stream, Terminal } from "./world.js";

export type Colour = "green" | "yellow" | "red" | "gray" | "bold";

/**
 * Prints one line on standard output, and waits until it is written, or cannot be: a million lines are never in memory
 * at once. An error is told to whoever listens to the stream.
 */
export function print({ stdout }: Pick<Terminal, "stdout">, line: string): Promise<void> {
  return new Promise((resolve) => {
    stdout.write(`${line}\n`, () => resolve());
  });
}

/** Colours a text if a person reads it and wants colours (`NO_COLOR`). */
export function coloured(stream: Stream, colour: Colour, text: string): string {
  const isWanted = stream.isTTY === true && stream.hasColors?.() === true;
  // Who knows the stream has decided whether to colour.
  return isWanted ? styleText(colour, text, { validateStream: false }) : text;
}

/** One line of JSON, safe for a terminal: whatever is not ASCII is escaped, so that nothing is lost. */
export function jsonOf(value: object): string {
  const escaped = (unit: string) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
  return JSON.stringify(value).replace(/[^\x20-\x7e]/g, escaped);
}

/** A text with its values: `{name}` stands for one. A value is not searched for names itself. */
export function filled(text: string, values: Readonly<Record<string, string | number>>): string {
  return text.replace(/\{(\w+)\}/g, (name, key: string) =>
    String(Object.hasOwn(values, key) ? values[key] : name),
  );
}

/** A stranger's words, safe for a terminal. */
export function printable(text: string): string {
  return text.replace(/[^\x20-\x7e]+/g, "?").slice(0, 300);
}
