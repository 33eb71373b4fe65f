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

export function asWarning(finding: Finding): Finding {
  return { ...finding, level: finding.level === "problem" ? "warning" : finding.level };
}
