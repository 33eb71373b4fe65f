import type { Time } from "./time.js";

/** Where a command writes. */
export interface World {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly stdout: Pick<NodeJS.WriteStream, "write" | "columns"> &
    Partial<Pick<NodeJS.WriteStream, "isTTY" | "hasColors">>;
  readonly stderr: Pick<NodeJS.WriteStream, "write"> &
    Partial<Pick<NodeJS.WriteStream, "isTTY" | "hasColors">>;
}

/** The same, for a command that asks questions and takes its time. */
export interface Terminal extends World {
  readonly stdin: NodeJS.ReadableStream;
  /** Aborted by Ctrl-C, or if nobody reads any more: start nothing new, let what is under way end. */
  readonly signal: AbortSignal;
  /** Epoch milliseconds. */
  readonly clock: () => number;
  readonly time: Time;
}

/** The signal's reason if nobody reads any more: then there is nobody to tell either. */
export const READER_GONE = "nobody reads any more";
