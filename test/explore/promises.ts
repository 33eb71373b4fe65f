/** What every schedule is judged by. docs/guarantees.md repeats these sentences, and a test compares. */
export const PROMISES = {
  loss: "If a refresh token reached a process that still runs, the token store gets it once writes work again.",
  ended: "No caller gets an expired access token, unless the service issued the token during this call.",
  rejected:
    "Once a process is told that the API rejected an access token, none of its callers gets this token.",
  others: "No caller gets another retailer's token.",
  current:
    "If a token is replaced, or its retailer disconnected, all processes stop using the token within cacheMs.",
  told: "A process that learns that a token was replaced, or its retailer disconnected, stops using the token at once.",
  once: "When an access token expires, all processes together send one token request for it.",
  need: "A process renews an access token only if the token is due for renewal, or if the API rejected the token.",
  spent: "A process that knows that a refresh token was replaced does not send it.",
  pause:
    "After a 429 no token request is sent before the rate limit's reset; after another failure none for 0.8 s.",
  verdict:
    "Callers are told to log in again only if the service refused the refresh token that the store holds.",
  absent:
    "Callers are told that a retailer is not connected only if the store holds no tokens of this retailer.",
  disconnected: "A disconnected retailer stays disconnected until the retailer's next login.",
  login: "Older tokens never replace newer tokens, or the tokens of a newer login, in the token store.",
  mark: "A stored token set is marked as refused only if the service refused its refresh token.",
  deadline: "No caller waits longer than timeoutMs for a token request.",
  settles: "Every promise that core returns is resolved or rejected.",
  waits: "No caller waits for a renewal while the caller's process has a valid token.",
  fails:
    "Callers get an error such as store_failed only if that failure happened and the process has no valid token.",
  works: "When all failures are over, each connected retailer gets a token again.",
} as const;

export type PromiseName = keyof typeof PROMISES;

/** A promise that was not kept. */
export interface Violation {
  readonly promise: PromiseName;
  readonly what: string;
}
