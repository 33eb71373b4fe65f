import type { Request } from "express";
import { expect, test } from "vitest";
import { newLogin } from "../../../login/src/parts.js";
import { browserLogins } from "./browser-logins.js";
import type { Session } from "./sessions.js";

const spent = { has: () => false, spend: async () => true };

/** Starts so many logins in one session, each with this state. */
function started(count: number, state: string, inCookie: boolean) {
  const logins = browserLogins({ key: "logins", clock: () => 0, spent });
  const session: Session = {};
  const req = { headers: {}, ...(!inCookie && { sessionID: "an-id" }) } as Request;
  const all = Array.from({ length: count }, () => newLogin(0, { state }));
  for (const login of all) logins.add(req, session, login);
  return { kept: logins.inSession(session), all };
}

test.each(["", "a state of the application's of some length", "x".repeat(500), "ü".repeat(400)])(
  "a session in a cookie stays small enough for browsers, and keeps the newest logins: %s",
  (state) => {
    const { kept, all } = started(40, state, true);
    expect(kept).toEqual(all.slice(-kept.length));
    expect(kept.length).toBeGreaterThan(1);
    expect(Buffer.byteLength(JSON.stringify(kept))).toBeLessThanOrEqual(2_000);
  },
);

test("a login whose state alone is longer is kept, without the others", () => {
  const { kept, all } = started(3, "x".repeat(3_000), true);
  expect(kept).toEqual(all.slice(-1));
});

test("a session in a store keeps twenty", () => {
  const { kept, all } = started(40, "x".repeat(500), false);
  expect(kept).toEqual(all.slice(-20));
});
