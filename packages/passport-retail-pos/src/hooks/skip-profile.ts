import { answerOfHook, type HookCall } from "./hook-answer.js";

/** Whether the profile of a login is left as it is. */
export type SkipUserProfile =
  | boolean
  | ((accessToken: string) => unknown)
  | ((accessToken: string, done: (error?: unknown, skip?: unknown) => void) => void);

/**
 * passport-oauth2's rule: a function that declares `done` answers through it, any other by its return value or promise.
 */
export async function isSkipped(skip: SkipUserProfile | undefined, accessToken: string): Promise<boolean> {
  if (typeof skip !== "function") return skip === true;
  const ask: HookCall["ask"] = (done) => skip(accessToken, done);
  const [isSkip] = await answerOfHook({ name: "skipUserProfile", ask, takesDone: skip.length > 1 });
  return Boolean(isSkip);
}
