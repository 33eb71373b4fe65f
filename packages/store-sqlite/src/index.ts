export type { SqliteDatabase, SqliteStatement } from "./database.js";
export { type SqliteTokens, type SqliteTokensOptions, sqliteTokens } from "./sqlite-tokens.js";
