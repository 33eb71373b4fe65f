/** What every schedule is judged by. docs/guarantees.md repeats these sentences, and a test compares. */
export const PROMISES = {
  loss: "If a process has received a refresh token and still runs, the process saves this token as soon as the token store takes writes.",
  ended: "No caller gets an expired access token, unless the service issued the token during this call.",
  rejected:
    "Once a process is told that the API rejected an access token, none of its callers gets this token.",
  others: "No caller gets another retailer's token.",
  current:
    "If a token is replaced, or its retailer is disconnected, all processes stop using the token within cacheMs.",
  told: "A process that learns that a token was replaced, or that the token's retailer disconnected, stops using this token at once.",
  once: "When an access token expires, all processes together send only one token request to replace it.",
  need: "A process renews an access token only if the token is due for renewal, or if the API rejected the token.",
  spent: "A process that knows that a refresh token was replaced does not send this refresh token.",
  pause:
    "After a 429, no token request is sent before the rate limit's reset; after a refusal, none for an hour; after other failures, none for 0.8 s.",
  verdict:
    "Callers are told to log in again only if the service refused the refresh token that the token store holds.",
  announced:
    "The event reconnect_required is told once for each refresh token that the service refuses, in all processes together, unless the token store does not take the mark.",
  absent:
    "Callers are told that a retailer is not connected only if the token store holds no tokens of this retailer.",
  disconnected: "A disconnected retailer stays disconnected until the retailer's next login.",
  login: "In the token store, older tokens never replace newer tokens or the tokens of a newer login.",
  mark: "A stored token set is marked as refused only if the service refused the set's refresh token.",
  deadline: "No caller waits longer than timeoutMs for a token request.",
  settles: "Every promise that core returns is resolved or rejected.",
  waits: "No caller waits for a renewal while the caller's process has a valid token.",
  fails:
    "An error such as store_failed reaches a caller only if the named failure happened and the process has no valid token.",
  works: "When all failures are over, callers get a token again for each connected retailer.",
} as const;

export type PromiseName = keyof typeof PROMISES;

/** A promise that was not kept. */
export interface Violation {
  readonly promise: PromiseName;
  readonly what: string;
}
