import { isRetailPosError } from "@retail-pos/core";
import type { ErrorRequestHandler, Response } from "express";
import { failureWords } from "passport-retail-pos";

/** The one of `public/pictures.svg` for each code; a cone for every other. */
const PICTURES: Record<string, string> = {
  access_denied: "sign",
  state_expired: "hourglass",
  code_refused: "hourglass",
  retailer_not_accepted: "lock",
  rate_limited: "clock",
  too_many_attempts: "clock",
  not_found: "signpost",
};

/** What only this application knows. */
const OWN: Record<string, { title: string; text: string }> = {
  too_many_attempts: {
    title: "Too many tries",
    text: "To keep accounts safe, only so many passwords can be tried. Come back in a quarter of an hour.",
  },
  bad_request: { title: "That is no form of ours", text: "It was damaged on its way, or is too long." },
  from_elsewhere: { title: "This came from a page of another site", text: "Nothing was changed." },
  not_found: { title: "There is no such page", text: "The address may be mistyped, or the store not yours." },
};

/**
 * @param code why a store was not connected, the code of core's error, or one of our own.
 * @param error core's, or the login's failure: its message tells whether somebody else began it.
 */
export function showProblem(res: Response, code: string, error?: unknown): void {
  const words = OWN[code] ?? failureWords({ code, error, message: Object(error).message });
  // A new login helps, but not against what only we can mend.
  const isConnecting = res.req.path.startsWith("/auth/") && !("action" in words && words.action === "home");
  res.render("problem", { ...words, picture: PICTURES[code] ?? "cone", isConnecting, wait: waitOf(error) });
}

/** How long a button is of no use yet. In seconds, because the reader's clock may be wrong. */
export function waitOf(error: unknown): { seconds: string | undefined; until: number } | undefined {
  if (!isRetailPosError(error) || error.code !== "rate_limited") return undefined;
  return { seconds: error.headers["Retry-After"], until: error.retryAt };
}

/** Core's errors know their status, and headers such as Retry-After; `observe` has told the log of them. */
export const showError: ErrorRequestHandler = (error, _req, res, next) => {
  if (res.headersSent) return next(error);
  if (isRetailPosError(error))
    return showProblem(res.set(error.headers ?? {}).status(error.status), error.code, error);
  if (error instanceof URIError) return showProblem(res.status(404), "not_found");
  if (error?.expose && error.status < 500) return showProblem(res.status(error.status), "bad_request");
  console.error(error);
  showProblem(res.status(500), "error");
};
