/** What every schedule is judged by. docs/guarantees.md repeats these sentences, and a test compares. */
export const PROMISES = {
  loss: "A refresh token that reached a living process is not lost: the store has it once it can be written.",
  ended: "No caller gets a token that has ended, unless this very call had it issued.",
  rejected: "No caller gets a token that the API rejected, once this process was told.",
  others: "No caller gets another retailer's token.",
  current:
    "No caller gets a token that was replaced, or whose retailer was disconnected, longer than cacheMs ago.",
  told: "No caller gets a token once this process was told that it was replaced, or that its retailer was disconnected.",
  once: "One expiry costs one token request, in all processes together.",
  need: "No token request goes out for a token that is neither due nor rejected.",
  spent: "No process sends a refresh token that it knows to be replaced.",
  pause: "After a 429 no token request goes out before the reset; after another failure none within 0.8 s.",
  verdict: "No caller is told to log in again, unless the service refused what the store holds.",
  absent: "No caller is told that a retailer is not connected while the store holds tokens for it.",
  disconnected: "A retailer who was disconnected stays so until the next login.",
  login: "Nothing older takes the place of a login or of newer tokens in the store.",
  mark: "A set is marked as refused only if the service refused it.",
  deadline: "No caller waits for a token request longer than timeoutMs.",
  settles: "Every promise settles.",
  waits: "No caller waits while a live token is held.",
  fails: "No caller gets an error while a live token is held, or if nothing failed.",
  works: "When everything works again, each connected retailer gets a token.",
} as const;

export type PromiseName = keyof typeof PROMISES;

/** A promise that was not kept. */
export interface Violation {
  readonly promise: PromiseName;
  readonly what: string;
}
