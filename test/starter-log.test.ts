import { parseDomainPrefix, type RetailPosEvent } from "@retail-pos/core";
import { expect, test } from "vitest";
import { logEvents } from "../examples/express-login/src/event-log.js";

// What a starter's log says of each event; the same file is in all of them (example-copies.test.ts).

const retailer = { domainPrefix: parseDomainPrefix("harbour-coffee"), at: 0 };
const cause = new Error("no such table:\n  tokens");

test.each<{ event: RetailPosEvent; level: string; line: string }>([
  { event: { ...retailer, type: "connected" }, level: "info", line: "connected store=harbour-coffee" },
  {
    event: { ...retailer, type: "renewed", rotated: true, tookMs: 35.46927400000277 },
    level: "info",
    line: "renewed store=harbour-coffee rotated=true tookMs=35",
  },
  {
    event: {
      ...retailer,
      type: "token_request",
      grant: "refresh_token",
      startedAt: 0,
      tookMs: 5,
      status: 200,
    },
    level: "info",
    line: "token_request store=harbour-coffee grant=refresh_token startedAt=1970-01-01T00:00:00.000Z tookMs=5 status=200",
  },
  {
    event: { ...retailer, type: "rate_limited", retryAt: 60_000, rateLimit: { limit: 3 } },
    level: "warn",
    line: "rate_limited store=harbour-coffee retryAt=1970-01-01T00:01:00.000Z",
  },
  {
    event: { ...retailer, type: "reconnect_required" },
    level: "warn",
    line: "reconnect_required store=harbour-coffee",
  },
  {
    event: { ...retailer, type: "unsaved", error: cause },
    level: "warn",
    line: "unsaved store=harbour-coffee: Error: no such table: tokens",
  },
  {
    event: { at: 0, type: "exchange_failed", error: "refused" },
    level: "warn",
    line: "exchange_failed store=unknown: refused",
  },
])("$event.type is one line", ({ event, level, line }) => {
  const lines: string[][] = [];
  const note = (level: string) => (line: string) => void lines.push([level, line]);
  logEvents({ info: note("info"), warn: note("warn") })(event);
  expect(lines).toEqual([[level, `retail-pos ${line}`]]);
});
