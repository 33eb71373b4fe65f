import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { anything, holds } from "../../../../test/support/fuzz.js";
import { addressesAt } from "../settings/addresses.js";
import { type DomainPrefix, parseDomainPrefix } from "./domain-prefix.js";
import { InvalidDomainPrefixError } from "./errors.js";

const SERVICE_HOST = "retail.example.com";
const service = addressesAt("https://login.example.com", `https://{domain_prefix}.${SERVICE_HOST}`);
const inPath = addressesAt("https://login.example.com", "https://example.com/stores/{domain_prefix}/v");

const LETTERS = "abcdefghijklmnopqrstuvwxyz";
const ALNUM = `${LETTERS}${LETTERS.toUpperCase()}0123456789`;

/** What has moved a host name elsewhere in one parser or another. */
const shards = fc.constantFrom(
  ...[
    ..."./\\@:?#%&=+ \t\r\n\0\u00ad\u200b\u200d\u2024\u2044\u3002\uff0e\uff0f\uff20\uff61\ufeff[]{}<>|^`'\"~!$*(),;",
  ],
  ...[
    "%2f",
    "%2F",
    "%00",
    "%0d%0a",
    "%2e",
    "%5c",
    "%40",
    "%23",
    "xn--",
    "--",
    "-",
    "0x7f",
    "127",
    "..",
    "//",
  ],
  ...["ａ", "ｓｈｏｐ", "ß", "ſ", "K", "ı", "İ", "é", "é", "\ud800", "\udfff", "😀", "__proto__"],
);
const label = fc
  .array(fc.constantFrom(...ALNUM, "-"), { minLength: 1, maxLength: 70 })
  .map((letters) => letters.join(""));
const hostile = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.array(fc.oneof(label, shards), { maxLength: 6 }).map((parts) => parts.join("")),
  },
  { weight: 2, arbitrary: fc.string({ unit: "binary", maxLength: 80 }) },
  { weight: 2, arbitrary: fc.tuple(label, shards, label).map((parts) => parts.join("")) },
  { weight: 1, arbitrary: fc.tuple(label, shards).map((parts) => parts.join("")) },
  { weight: 1, arbitrary: fc.tuple(shards, label).map((parts) => parts.join("")) },
  { weight: 1, arbitrary: fc.webUrl() },
  { weight: 1, arbitrary: fc.ipV6() },
  { weight: 2, arbitrary: label },
);

describe("any text as a domain prefix", () => {
  test("is refused, or is one DNS label whose URL leads to exactly that host of the service", async () => {
    await holds(
      fc.property(hostile, (text) => {
        const prefix = parsed(text);
        if (prefix === undefined) return;
        expect(isDnsLabel(prefix)).toBe(true);
        expect(prefix).toBe(text.toLowerCase());
        const url = new URL(`${service.baseUrl(prefix)}/api/1.0/token`);
        expect(url.host).toBe(`${prefix}.${SERVICE_HOST}`);
        expect([url.protocol, url.username, url.password, url.pathname]).toEqual([
          "https:",
          "",
          "",
          "/api/1.0/token",
        ]);
        const path = new URL(`${inPath.baseUrl(prefix)}/api/1.0/token`);
        expect([path.host, path.pathname]).toEqual(["example.com", `/stores/${prefix}/v/api/1.0/token`]);
      }),
      10_000,
    );
  });

  test("is taken if it is a DNS label, whatever its letter case, and stays the same when read again", async () => {
    const good = fc
      .tuple(
        fc.constantFrom(...ALNUM),
        fc.array(fc.constantFrom(...ALNUM, "-"), { maxLength: 61 }),
        fc.constantFrom(...ALNUM),
      )
      .map(([first, middle, last]) => first + middle.join("") + last);
    await holds(
      fc.property(fc.oneof(good, fc.constantFrom(...ALNUM)), (text) => {
        const prefix = parseDomainPrefix(text);
        expect(prefix).toBe(text.toLowerCase());
        expect(parseDomainPrefix(prefix)).toBe(prefix);
      }),
      5_000,
    );
  });

  test("is refused with one more sign anywhere in it that no label has", async () => {
    const other = fc
      .string({ unit: "binary", minLength: 1, maxLength: 1 })
      .filter((sign) => !/[\w-]/.test(sign));
    await holds(
      fc.property(label, other, fc.nat(), (text, sign, at) => {
        const cut = at % (text.length + 1);
        expect(parsed(text.slice(0, cut) + sign + text.slice(cut))).toBeUndefined();
      }),
      5_000,
    );
  });
});

test("anything that is no text is no domain prefix", async () => {
  await holds(
    fc.property(anything(), (value) => {
      if (typeof value !== "string") expect(parsed(value)).toBeUndefined();
    }),
    2_000,
  );
});

/** `undefined` where it was refused as it should be; any other error is the test's. */
function parsed(text: unknown): DomainPrefix | undefined {
  try {
    return parseDomainPrefix(text);
  } catch (error) {
    expect(error).toBeInstanceOf(InvalidDomainPrefixError);
    return undefined;
  }
}

/** Read sign by sign from RFC 1123, section 2.1. */
function isDnsLabel(text: string): boolean {
  if (text.length < 1 || text.length > 63 || text.startsWith("-") || text.endsWith("-")) return false;
  return [...text].every((sign) => LETTERS.includes(sign) || (sign >= "0" && sign <= "9") || sign === "-");
}
