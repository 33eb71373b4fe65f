import type { Application } from "../values/application.js";
import { hashOf } from "../values/bytes.js";
import { newestThatFit, type PendingLogin, pendingLoginsIn } from "./pending-logins.js";

/** The logins under way in one browser, as the text that the application keeps for it. */
export interface PendingText {
  /** The logins in a text that this application wrote for this service and API; none in any other. */
  read(pending: string | undefined): Promise<PendingLogin[]>;
  /** The newest of the logins. `undefined` without any: nothing is kept for a browser that has none under way. */
  write(logins: readonly PendingLogin[]): Promise<string | undefined>;
}

export function pendingText({ identity }: Application): PendingText {
  const whose = async () => (await hashOf(identity)).slice(0, 22);

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
    async write(logins) {
      if (logins.length === 0) return undefined;
      const of = await whose();
      const write = (some: readonly PendingLogin[]) => JSON.stringify({ of, logins: some });
      return write(newestThatFit(logins, write));
    },
  };
}
