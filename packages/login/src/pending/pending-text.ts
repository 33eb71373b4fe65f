import type { Application } from "../values/application.js";
import { bytesOf } from "../values/bytes.js";
import { MOST_PENDING, type PendingLogin, pendingLoginsIn } from "./pending-logins.js";

/** The logins under way in one browser, as the text that the application keeps for it. */
export interface PendingText {
  /** The logins in a text that this application wrote at this service; none in any other. */
  read(pending: string | undefined): PendingLogin[];
  /** `undefined` without logins: nothing is kept for a browser that has none under way. */
  write(logins: readonly PendingLogin[]): string | undefined;
  /**
   * The same with a login that starts; the oldest of the others go first.
   *
   * @throws {TypeError} the login takes more than 64 kB.
   */
  writeWith(login: PendingLogin, others: readonly PendingLogin[]): string;
}

/** Bytes of UTF-8 that are kept for one browser. */
const LONGEST = 64 * 1024;

export function pendingText({ clientId, service }: Application): PendingText {
  const write = (logins: readonly PendingLogin[]) => JSON.stringify({ clientId, service, logins });

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
    write: (logins) => (logins.length > 0 ? write(logins) : undefined),
    writeWith(login, others) {
      const logins = [...others, login].slice(-MOST_PENDING);
      for (; logins.length > 0; logins.shift()) {
        const text = write(logins);
        if (bytesOf(text).length <= LONGEST) return text;
      }
      throw new TypeError(`state and redirectUri are together too long: ${LONGEST} bytes are kept at most`);
    },
  };
}
