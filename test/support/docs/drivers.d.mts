// Drivers that a document names and that are not installed here: one has to be built, one needs a newer Node.
declare module "better-sqlite3" {
  export { default } from "libsql";
}
declare module "node:sqlite" {
  export class DatabaseSync {
    constructor(path: string);
    exec(sql: string): void;
    prepare(sql: string): {
      get(...values: unknown[]): unknown;
      all(...values: unknown[]): unknown[];
      run(...values: unknown[]): { changes: number };
    };
  }
}

// The runtime of Cloudflare Workers has it.
declare module "cloudflare:workers" {
  export const env: Record<string, string>;
  export function waitUntil(work: Promise<unknown>): void;
}
