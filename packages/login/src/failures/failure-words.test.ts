import { readFileSync } from "node:fs";
import {
  InvalidDomainPrefixError,
  RateLimitedError,
  type RetailPosErrorCode,
  TokenEndpointError,
} from "@retail-pos/core";
import { describe, expect, test } from "vitest";
import { failureWords, type LoginFailureCode } from "../index.js";
import { CANNOT_BE_OPENED } from "./failure-words.js";

// A code that is new does not compile here until it is in one of the lists.

const NOW = Date.UTC(2026, 0, 5);
const OF_LOGINS: Record<LoginFailureCode, "log_in" | "wait"> = {
  access_denied: "log_in",
  state_missing: "log_in",
  state_unknown: "log_in",
  state_expired: "log_in",
  invalid_domain_prefix: "log_in",
  invalid_callback: "log_in",
  code_refused: "log_in",
  retailer_not_accepted: "log_in",
  authorization_failed: "wait",
  login_refused: "log_in",
};
const OF_CORE: Record<Exclude<RetailPosErrorCode, LoginFailureCode>, "log_in" | "wait" | "home"> = {
  not_connected: "log_in",
  reconnect_required: "log_in",
  rate_limited: "wait",
  token_endpoint_failed: "wait",
  bad_token_response: "wait",
  client_refused: "home",
  store_failed: "wait",
  bad_stored_tokens: "home",
};
const all = Object.entries({ ...OF_LOGINS, ...OF_CORE });
const whole = ({ title, text }: ReturnType<typeof failureWords>) => `${title}. ${text}`;

describe.each(all)("%s", (code, action) => {
  test("has words of its own that need no developer, and what helps", () => {
    const words = failureWords({ code });
    expect(words).toEqual({ title: expect.any(String), text: expect.any(String), action });
    expect(words.title).toMatch(/^[A-Z].+[^.]$/);
    expect(words.text).toMatch(/^[A-Z].+\.$/);
    expect(whole(words)).not.toMatch(/_|token|callback|state\b|code|domain|prefix|secret|\b\d{3}\b/);
    expect(whole(words)).not.toBe(whole(failureWords({ code: "new_in_a_later_version" })));
  });

  test("shows nothing of its error or its message", () => {
    const canary = "canary-5f1c";
    const error = Object.assign(new Error(canary), {
      code,
      retryAt: canary,
      error: canary,
      errorDescription: canary,
    });
    expect(JSON.stringify(failureWords({ code, error, message: canary }))).not.toContain(canary);
  });
});

test.each(["bad_stored_tokens", "client_refused", "store_failed"])(
  "%s, which only the operator can mend, sends nobody to log in again",
  (code) => {
    const words = failureWords({ code });
    expect(words.action).not.toBe("log_in");
    expect(whole(words)).toMatch(/Nothing is wrong with your store|Nothing was lost/);
    expect(whole(words)).not.toMatch(/connect|log in|login|start again/i);
  },
);

test("each reason has words of its own, so that a developer finds it by them; of the token endpoint there is one", () => {
  const sealed = whole(failureWords({ code: "state_unknown", message: CANNOT_BE_OPENED }));
  const texts = [...all.map(([code]) => whole(failureWords({ code }))), sealed];
  expect(new Set(texts).size).toBe(texts.length - 1);
});

test.each(["error", "", "toString", "__proto__", "constructor"])(
  "the code %j, which is none, has general words",
  (code) => {
    expect(failureWords({ code, error: new Error("secret") })).toEqual({
      title: "That did not work",
      text: "Something went wrong on our side. Nothing was lost. Try again in a few minutes.",
      action: "wait",
    });
  },
);

test("the info of a verify that let nobody in, which is none, has the words of login_refused", () => {
  expect(failureWords(undefined)).toEqual(failureWords({ code: "login_refused" }));
});

describe("retryAt", () => {
  test.each<[string, string, unknown, number | undefined]>([
    ["of a limit", "rate_limited", new RateLimitedError(NOW + 1000, NOW), NOW + 1000],
    ["of a limit whose error went through JSON", "rate_limited", { retryAt: NOW }, NOW],
    ["of a limit without its error", "rate_limited", undefined, undefined],
    ["of a limit with an error that says none", "rate_limited", null, undefined],
    ["that is no instant", "rate_limited", { retryAt: Number.NaN }, undefined],
    ["of anything else", "store_failed", { retryAt: NOW }, undefined],
  ])("%s", (_, code, error, retryAt) => {
    expect(failureWords({ code, error }).retryAt).toBe(retryAt);
  });
});

describe("an error that says more than its code", () => {
  test("a code that the service refused, as core says it", () => {
    const error = new TokenEndpointError("a test says so", { status: 403, error: "invalid_grant" });
    expect(failureWords({ code: error.code, error })).toEqual(failureWords({ code: "code_refused" }));
    const other = new InvalidDomainPrefixError();
    expect(failureWords({ code: "token_endpoint_failed", error: other }).action).toBe("wait");
  });
});

test("the README quotes them", () => {
  const readme = readFileSync(new URL("../../README.md", import.meta.url), "utf8");
  const rows = [
    ...readme.matchAll(/^\| ((?:`\w+`(?:, )?)+) \|(?: \d+ \|[^|]+\|)? "([^"]+)"[^|]* \| `(\w+)` \|$/gm),
  ];
  const quoted = rows.flatMap(([, codes = "", title, action]) =>
    [...codes.matchAll(/\w+/g)].map(([code]) => ({ code, title, action })),
  );
  expect(quoted).toEqual(
    all.map(([code]) => ({
      code,
      title: failureWords({ code }).title,
      action: failureWords({ code }).action,
    })),
  );
});
