import type { Time } from "./time.js";

/** Where a command writes. */
export type Stream = Pick<NodeJS.WriteStream, "write"> &
  Partial<Pick<NodeJS.WriteStream, "columns" | "isTTY" | "hasColors">>;

/** What a command has of the world around it. */
export interface Terminal {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly stdin: NodeJS.ReadableStream;
  readonly stdout: Stream;
  readonly stderr: Stream;
  /** Aborted by Ctrl-C, or if nobody reads any more: start nothing new, let what is under way end. */
  readonly signal: AbortSignal;
  /** Epoch milliseconds. */
  readonly clock: () => number;
  readonly time: Time;
}

/** The signal's reason if nobody reads any more: then there is nobody to tell either. */
export const READER_GONE = "nobody reads any more";
