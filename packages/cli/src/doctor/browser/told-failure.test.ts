import { expect, test } from "vitest";
import { CANNOT_BE_OPENED, failureWords } from "../../../../login/src/failures/failure-words.js";
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
  ["invalid_callback", "invalid_callback"],
  ["invalid_domain_prefix", undefined],
  ["login_refused", undefined],
  ["client_refused", "client_refused"],
  ["rate_limited", "rate_limited"],
  ["token_endpoint_failed", "token_endpoint_failed"],
  ["bad_token_response", "token_endpoint_failed"],
  ["store_failed", "store_failed"],
  ["not_connected", undefined],
])("webLogin's words for %s tell of %s", (code, expected) => {
  expect(toldFailure(answer(wordsFor({ code })))).toBe(expected);
});

test("webLogin's words for a cookie of another secret tell of one", () => {
  const text = wordsFor({ code: "state_unknown", message: CANNOT_BE_OPENED });
  expect(toldFailure(answer(text))).toBe("sealed_elsewhere");
});

function wordsFor(failure: Parameters<typeof failureWords>[0]): string {
  const { title, text } = failureWords(failure);
  return `${title}. ${text}`;
}

function answer(text: string): Answer {
  const url = new URL("https://app.example.net/callback");
  return {
    url,
    status: 403,
    headers: new Headers(),
    text,
    location: undefined,
  };
}
