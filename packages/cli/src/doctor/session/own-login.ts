import type { OwnLoginsSeen } from "../callback/callback-visits.js";
import { type Finding, ok, problem, skipped, warning } from "../findings/finding.js";

const CHECK = "own-login";
const effect =
  "The retailer approves, comes back, and is told that this login is unknown or did not start here.";

/**
 * Whether the application knows the logins that it starts when they come back (R2).
 *
 * @param how to find out more, if this does not show it.
 */
export function ownLogin(seen: OwnLoginsSeen, how: string): Finding {
  const { knew, known, isLate } = seen;
  if (known.length > 0 && knew.some((each) => each !== "known")) return nowAndThen(seen);
  if (isLate) return late();
  if (known.length > 0) return knownAgain();
  return isLost(seen) ? lost(seen) : cannotTell(how);
}

export function knownAgain(): Finding {
  return ok(CHECK, "The application knows its own logins when they come back.");
}

/** Whether it shows at all; else only a code can tell. */
export function isClear(seen: OwnLoginsSeen): boolean {
  return seen.known.length > 0 || isLost(seen);
}

/** Its words say so; or it answers as Passport does to a login that it does not know; or its session was not found. */
function isLost({ knew, isPassportsAnswer, replaced }: OwnLoginsSeen): boolean {
  return knew.includes("unknown") || isPassportsAnswer || replaced.some(Boolean);
}

function nowAndThen({ knew }: OwnLoginsSeen): Finding {
  const times = knew.filter((each) => each === "known").length;
  return problem(
    "session-store",
    `The application knew a login of its own ${times} of ${knew.length} times.`,
    {
      effect,
      mend: "Several processes answer, each with sessions or secrets of its own: give them one session store (Redis, a database) and one session secret.",
    },
  );
}

function late(): Finding {
  return warning(
    "session-store",
    "The session store is slow: a login is known only a while after it started.",
    {
      effect: "A retailer whom the service sends back at once is told that this login is unknown.",
      mend: "Let the session be saved before the redirect is sent, and read it where it was written, not from a replica behind.",
    },
  );
}

function lost({ told, replaced }: OwnLoginsSeen): Finding {
  const unknown = "The application does not know a login that it has just started";
  if (told === "sealed_elsewhere") {
    const mend =
      "Give every process, and every start, the same secret for the login's cookie: from the settings, not a random one.";
    return problem("session-store", `${unknown}: its cookie was sealed with another secret.`, {
      effect,
      mend,
    });
  }
  if (replaced.some(Boolean)) {
    const which = replaced.every(Boolean) ? "" : " now and then";
    return problem("session-store", `${unknown}: its session is gone${which} when the browser comes back.`, {
      effect,
      mend: "Look at the session store. Usual reasons: several processes, each with sessions in memory or with a secret of its own; a store whose database is not there, so that nothing is saved; a restart at every request.",
    });
  }
  return problem("session-store", `${unknown}.`, {
    effect,
    mend: "Compare what stands before the login route and before the callback: one session middleware, one strategy with one sessionKey, nothing that empties the session in between; and one session store and secret for all processes.",
  });
}

/** Failures all look the same: that is no mistake, and nothing can be seen through it. */
export function cannotTell(how = ""): Finding {
  const message =
    "Cannot tell whether the application knows its own logins again: it answers them as it answers a stranger.";
  const look = `${how}log in once in a browser; if that fails, look at info.code in the callback of passport.authenticate, or at the code that onFailure gets: state_unknown means the session store.`;
  const mend = `${look[0]?.toUpperCase()}${look.slice(1)}`;
  return warning(CHECK, message, {
    effect: `If it does not: ${effect[0]?.toLowerCase()}${effect.slice(1)}`,
    mend,
  });
}

export function notLooked(reason: string): Finding {
  return skipped(CHECK, "Whether the application knows its own logins again was not looked at.", reason);
}
