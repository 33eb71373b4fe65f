import { describe, expect, test } from "vitest";
import { redact } from "./redact.js";

const SECRET = "canary-4d7a";

describe("redact", () => {
  const rows = [
    { name: "every occurrence", text: `a ${SECRET} b ${SECRET}`, secret: SECRET },
    { name: "a part of a word", text: `x${SECRET}y`, secret: SECRET },
    { name: "signs that mean something in a pattern", text: "a canary.*$&+? b", secret: "canary.*$&+?" },
    { name: "form-encoded", text: "code=canary+%2F%3D%26&x=1", secret: "canary /=&" },
    { name: "in other scripts, form-encoded", text: "code=canary%C3%A9", secret: "canaryé" },
    { name: "URL-encoded, with %20 for a space", text: "?code=canary%20%2F", secret: "canary /" },
    { name: "URL-encoded, behind a sign that begins an escape", text: "%canary%20%2F", secret: "canary /" },
    { name: "inside JSON", text: JSON.stringify({ code: 'canary"\\' }), secret: 'canary"\\' },
  ];
  for (const { name, text, secret } of rows) {
    test(`takes a secret out of a text: ${name}`, () => {
      expect(redact(text, [secret])).not.toContain("canary");
      expect(redact(text, [secret])).toContain("[hidden]");
    });
  }

  test("leaves nothing of a secret that begins like another one", () => {
    expect(redact("for refresh-canary", ["refresh", "refresh-canary"])).not.toContain("canary");
    expect(redact("for refresh-canary", ["refresh-canary", "refresh"])).not.toContain("canary");
  });

  test("leaves other texts alone", () => {
    expect(redact("nothing here", [SECRET])).toBe("nothing here");
    expect(redact("nothing here", [])).toBe("nothing here");
    expect(redact("nothing here", [""])).toBe("nothing here");
  });

  const secret = "canary/4d+7a=&<é>'\"b";
  const percent = encodeURIComponent(secret);
  const usual = [
    { name: "percent-encoded", text: percent },
    { name: "percent-encoded in lower case", text: percent.toLowerCase() },
    { name: "percent-encoded twice", text: encodeURIComponent(percent) },
    { name: "in HTML", text: "canary/4d+7a=&amp;&lt;é&gt;&#39;&quot;b" },
    { name: "in ASCII JSON", text: JSON.stringify(secret).replace("é", "\\u00e9") },
    { name: "in JSON", text: JSON.stringify(secret) },
    { name: "in JSON, with its slashes escaped", text: JSON.stringify(secret).replaceAll("/", "\\/") },
  ];
  for (const { name, text } of usual) {
    test(`takes the secret out, and leaves what stands around it: ${name}`, () => {
      const [before, after] = ["before it: ", " :after it"];
      const redacted = redact(`${before}${text}${after}`, [secret]);
      expect(redacted).toContain("before it: ");
      expect(redacted).toContain(" :after it");
      expect(redacted).toContain("[hidden]");
      for (const part of [secret, text, text.slice(0, 8), text.slice(-8)])
        expect(redacted).not.toContain(part);
    });
  }

  test("leaves texts alone that are encoded and hold no secret", () => {
    for (const text of [
      "/a%2Fb%252Fc",
      "C:\\new\\table",
      "&amp;&#x41;&#99999999;",
      "YWJjZGVmZ2hpamtsbW5v",
      "\\u{110000}",
    ])
      expect(redact(text, [SECRET, secret])).toBe(text);
  });

  test("takes a secret of 64 kilobytes", () => {
    const long = "0123456789abcdef".repeat(4_096);
    expect(redact(`a ${long} b`, [long])).toBe("a [hidden] b");
    expect(redact(`a ${encodeURIComponent(`/${long}`)} b`, [`/${long}`])).toBe("a [hidden] b");
  });
});
