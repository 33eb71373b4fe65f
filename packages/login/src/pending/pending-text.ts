import type { Application } from "../values/application.js";
import { bytesOf, hashOf } from "../values/bytes.js";
import { newestThatFit, type PendingLogin, pendingLoginsIn } from "./pending-logins.js";

/** The logins under way in one browser, as the text that the application keeps for it. */
export interface PendingText {
  /** The logins in a text that this application wrote for this service and API; none in any other. */
  read(pending: string | undefined): Promise<PendingLogin[]>;
  /** `undefined` without logins: nothing is kept for a browser that has none under way. */
  write(logins: readonly PendingLogin[]): Promise<string | undefined>;
  /**
   * The same with a login that starts; the oldest of the others go first.
   *
   * @throws {TypeError} the login takes more than 64 kB.
   */
  writeWith(login: PendingLogin, others: readonly PendingLogin[]): Promise<string>;
}

/** Bytes of UTF-8 of a single login. */
const LONGEST = 64 * 1024;

export function pendingText({ identity }: Application): PendingText {
  const whose = async () => (await hashOf(identity)).slice(0, 22);
  const write = (of: string, logins: readonly PendingLogin[]) => JSON.stringify({ of, logins });

  return {
    async read(pending) {
      if (typeof pending !== "string") return [];
      try {
        const kept: { of?: unknown; logins?: unknown } | null = JSON.parse(pending);
        return kept?.of === (await whose()) ? pendingLoginsIn(kept.logins) : [];
      } catch {
        return [];
      }
    },
    write: async (logins) => (logins.length > 0 ? write(await whose(), logins) : undefined),
    async writeWith(login, others) {
      const of = await whose();
      const text = write(
        of,
        newestThatFit([...others, login], (logins) => write(of, logins)),
      );
      if (bytesOf(text).length <= LONGEST) return text;
      throw new TypeError(`state and redirectUri are together too long: ${LONGEST} bytes are kept at most`);
    },
  };
}
