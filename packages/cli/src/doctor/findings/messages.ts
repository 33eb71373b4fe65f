import { filled } from "../../terminal/output.js";
import type { Finding, Level } from "./finding.js";
import texts from "./messages.json" with { type: "json" };

/** A row of `messages.json`, which has everything that the checks say; it begins with the name of the check. */
export type MessageKey = keyof typeof texts.findings;

interface Row {
  readonly level: Level;
  readonly message: string;
  readonly effect?: string;
  readonly mend?: string;
}

/** A finding in the words of its row: `{NAME}` stands for a text that several rows share, `{name}` for a value. */
export function found(key: MessageKey, values: Readonly<Record<string, string | number>> = {}): Finding {
  const { level, message, effect, mend } = texts.findings[key] as Row;
  const said = (text: string) => filled(filled(text, texts.shared), values);
  return {
    check: key.split(" ")[0] as string,
    level,
    message: said(message),
    ...(effect !== undefined && { effect: said(effect) }),
    ...(mend !== undefined && { mend: said(mend) }),
  };
}

/** Beside the login's own cookie, a session's cookie is for staying logged in. */
export function ofSession(finding: Finding): Finding {
  return { ...finding, effect: texts.shared.LOGGED_OUT };
}
