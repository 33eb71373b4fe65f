/** What one check found, in words for the developer of the application. */
export interface Finding {
  /** Names the check for machines; stays the same when the words change. */
  readonly check: string;
  readonly level: Level;
  readonly message: string;
  /** What a retailer who logs in would see of it. Problems and warnings have it. */
  readonly effect?: string;
  /** What to do about it. */
  readonly mend?: string;
}

/** `skipped`: not looked at, because something that the check needs was not given. */
export type Level = "ok" | "warning" | "problem" | "skipped";

/** What was found in one place of the login. */
export interface Group {
  readonly title: string;
  readonly findings: readonly Finding[];
}

/** What goes with everything that is not well. */
export interface Advice {
  readonly effect: string;
  readonly mend: string;
}

export function ok(check: string, message: string): Finding {
  return { check, level: "ok", message };
}

export function warning(check: string, message: string, { effect, mend }: Advice): Finding {
  return { check, level: "warning", message, effect, mend };
}

export function problem(check: string, message: string, { effect, mend }: Advice): Finding {
  return { check, level: "problem", message, effect, mend };
}

export function skipped(check: string, message: string, mend: string): Finding {
  return { check, level: "skipped", message, mend };
}
