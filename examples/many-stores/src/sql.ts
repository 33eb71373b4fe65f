/** What a column holds. Instants are epoch milliseconds. */
export type Value = string | number | null;

/** A row as the engine gives it: a large number may come as text. */
export type Row = Readonly<Record<string, unknown>>;

/** SQL that both engines understand, with a `?` for each value. */
export type Statement = readonly [sql: string, ...values: Value[]];

/** The database of the application's own tables. */
export interface Sql {
  query(...statement: Statement): Promise<Row[]>;
  /** All of them or none, in one transaction. */
  together(statements: readonly Statement[]): Promise<void>;
}
