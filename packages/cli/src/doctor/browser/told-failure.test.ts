import { expect, test } from "vitest";
import { CANNOT_BE_OPENED, wordsFor } from "../../../../login/src/failure-words.js";
import type { Answer } from "./browser-get.js";
import { toldFailure } from "./told-failure.js";

// What webLogin says to whoever logs in, if the application has no words of its own.

test.each([
  ["state_unknown", "state_unknown"],
  ["state_missing", "state_unknown"],
  ["state_expired", "state_unknown"],
  ["code_refused", "code_refused"],
  ["retailer_not_accepted", "retailer_not_accepted"],
  ["access_denied", undefined],
  ["invalid_callback", undefined],
  ["invalid_domain_prefix", undefined],
  ["login_refused", undefined],
])("webLogin's words for %s tell of %s", (code, expected) => {
  expect(toldFailure(answer(wordsFor({ code, status: 403, message: "for developers" })))).toBe(expected);
});

test("webLogin's words for a cookie of another secret tell of one", () => {
  const text = wordsFor({ code: "state_unknown", status: 403, message: CANNOT_BE_OPENED });
  expect(toldFailure(answer(text))).toBe("sealed_elsewhere");
});

function answer(text: string): Answer {
  const url = new URL("https://app.example.net/callback");
  return {
    url,
    status: 403,
    headers: new Headers(),
    text,
    location: undefined,
    tookMs: 1,
    aheadMs: undefined,
  };
}
