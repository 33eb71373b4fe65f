/** The world a command runs in; `process` is one. */
export interface World {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly stdout: Pick<NodeJS.WriteStream, "write" | "columns"> &
    Partial<Pick<NodeJS.WriteStream, "isTTY" | "hasColors">>;
  readonly stderr: Pick<NodeJS.WriteStream, "write">;
}
