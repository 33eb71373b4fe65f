import type { Application } from "./application.js";
import { type PendingLogin, pendingLoginsIn } from "./pending-logins.js";

/** The logins under way in one browser, as the text that the application keeps for it. */
export interface PendingText {
  /** The logins in a text that this application wrote at this service; none in any other. */
  read(pending: string | undefined): PendingLogin[];
  /** `undefined` without logins: nothing is kept for a browser that has none under way. */
  write(logins: readonly PendingLogin[]): string | undefined;
}

export function pendingText({ clientId, service }: Application): PendingText {
  return {
    read(pending) {
      if (typeof pending !== "string") return [];
      try {
        const kept: { clientId?: unknown; service?: unknown; logins?: unknown } | null = JSON.parse(pending);
        const isOurs = kept?.clientId === clientId && kept.service === service;
        return isOurs ? pendingLoginsIn(kept.logins) : [];
      } catch {
        return [];
      }
    },
    write: (logins) => (logins.length > 0 ? JSON.stringify({ clientId, service, logins }) : undefined),
  };
}
