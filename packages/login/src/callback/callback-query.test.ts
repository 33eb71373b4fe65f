import { describe, expect, test } from "vitest";
import { crippled, hostilePrefixes } from "../../../../test/support/hostile-callbacks.js";
import { queryIn, readCallback } from "./callback-query.js";

const GOOD = "code=code-shop&domain_prefix=shop&state=state-of-a-login";
const STRANGE = "error_description=call+0800+EVIL&error_uri=https://evil.example";

/** What a callback is read as: its parameters, or the code of its failure. */
function read(query: string, without?: string): unknown {
  const address = new URL(`https://app.example.net/callback?${GOOD}`);
  if (without) address.searchParams.delete(without);
  address.search += `&${query}`;
  return outcomeOf(() => readCallback(queryIn(address)));
}

function outcomeOf(act: () => unknown): unknown {
  try {
    return act();
  } catch (error) {
    return (error as { code: string }).code;
  }
}

describe("a callback is read as it was sent", () => {
  const good = { code: "code-shop", domainPrefix: "shop", state: "state-of-a-login" };
  const { state } = good;

  test.each<[query: string, without: string, expected: object]>([
    ["", "", good],
    ["scope=&utm=1&utm=2&toString=x", "", good],
    ["error=", "", good],
    ["error=&error_description=", "", good],
    ["error", "", good],
    ["domain_prefix=SHOP", "domain_prefix", good],
    [`domain_prefix=${"s".repeat(63)}`, "domain_prefix", { ...good, domainPrefix: "s".repeat(63) }],
    ["domain_prefix=xn--caf-dma", "domain_prefix", { ...good, domainPrefix: "xn--caf-dma" }],
    ["code=0012", "code", { ...good, code: "0012" }],
    ["domain_prefix=007", "domain_prefix", { ...good, domainPrefix: "007" }],
    ["error=server_error", "", { error: "server_error", state }],
    ["error=access_denied", "state", { error: "access_denied", state: undefined }],
    [`error=access_denied&${STRANGE}`, "", { error: "access_denied", state, description: "call 0800 EVIL" }],
    ["error=x&error_description=a%0D%0A%00b", "", { error: "x", state, description: "a b" }],
  ])("%j, without %j", (query, without, expected) => {
    expect(read(query, without)).toMatchObject(expected);
  });
});

describe("a callback is refused", () => {
  test.each(crippled)("%s: invalid_callback", (_, without, query) => {
    expect(read(query, without)).toBe("invalid_callback");
  });

  test.each(hostilePrefixes)("a domain prefix %s: invalid_domain_prefix", (_, prefix) => {
    const query = prefix === undefined ? "" : new URLSearchParams({ domain_prefix: prefix }).toString();
    expect(read(query, "domain_prefix")).toBe("invalid_domain_prefix");
  });

  test.each(["", "state=", "error=server_error"])("without a state, with %j: state_missing", (query) => {
    expect(read(query, "state")).toBe("state_missing");
  });

  test.each([
    ["the error is named where it is a plain name", "error=server_error", /brings the error "server_error"/],
    ["the error is not repeated where it is none", "error=call 0800 EVIL", /brings an error\./],
  ])("without a state: %s, and no other word of a stranger's", (_, error, message) => {
    const url = new URL(`https://app.example.net/callback?${error}&${STRANGE}`);
    const refused = () => readCallback(queryIn(url));
    expect(refused).toThrow(message);
    expect(refused).not.toThrow(/evil/i);
  });

  test.each(["error_code=500", "reason=denied&lang=en", "scope=all", "state=", "=", "Code=c"])(
    "with only %s: invalid_callback",
    (query) => {
      const url = new URL(`https://app.example.net/callback?${query}`);
      expect(outcomeOf(() => readCallback(queryIn(url)))).toBe("invalid_callback");
    },
  );
});

test("a query is read in one go, however often a stranger repeats a parameter", () => {
  // A copy of the list for each of them would take hours.
  const times = 500_000;
  const query = queryIn(new URL(`https://app.example.net/callback?${"&a".repeat(times)}&code=c&code=d`));
  expect(query["a"]).toHaveLength(times);
  expect(query["code"]).toEqual(["c", "d"]);
  expect(() => readCallback(query)).toThrow(expect.objectContaining({ code: "invalid_callback" }));
});
