/** The facts about the strategy that passport-oauth2 gives to a state store. */
export interface StateMeta {
  /** {auth_url} with `/connect` (4.1). */
  authorizationURL: string;
  /** With `{domain_prefix}` in it: each retailer has a token endpoint of their own. */
  tokenURL: string;
  /** The application's client id. */
  clientID: string;
  /** The callback URL of this login. */
  callbackURL: string;
}

/** A state store as passport-oauth2 defines it; `store` and `verify` are told apart by their declared length. */
export interface StateStore {
  /**
   * `([req, appState, meta,] done)`: makes the state of a login that starts, and hands it to `done(error, state)`.
   * A function that declares no `done` promises it.
   */
  // biome-ignore lint/suspicious/noExplicitAny: passport-oauth2 knows four signatures, told apart at run time
  store(...args: any[]): unknown;
  /** `(req, state, [meta,] done)`: whether the callback's state is one of these; `done(error, ok, info)`. */
  // biome-ignore lint/suspicious/noExplicitAny: the same
  verify(...args: any[]): unknown;
}
