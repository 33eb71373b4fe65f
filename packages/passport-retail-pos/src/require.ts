import { failureWords } from "@retail-pos/login";
import { RetailPosStrategy } from "./strategy.js";

/** The names that `require()` gives beside the class itself. */
type Names = Readonly<Record<"RetailPosStrategy" | "Strategy" | "default", typeof RetailPosStrategy>> & {
  /** What to tell a person about a failed login. */
  readonly failureWords: typeof failureWords;
};

/**
 * What `require("passport-retail-pos")` gives, as with other strategies: the class, with the named exports on it. Node
 * looks for an export with the name "module.exports" (the manual of `require()`, "Loading ECMAScript modules").
 */
export const required: typeof RetailPosStrategy & Names = Object.assign(RetailPosStrategy, {
  RetailPosStrategy,
  Strategy: RetailPosStrategy,
  default: RetailPosStrategy,
  failureWords,
});
