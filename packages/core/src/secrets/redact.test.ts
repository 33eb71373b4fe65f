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
  const bytes = Buffer.from(secret);
  const html = secret
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");
  const codes = [...secret].map((sign) => sign.charCodeAt(0));
  const hexes = codes.map((code) => code.toString(16).padStart(4, "0"));
  const usual = [
    { name: "base64", text: bytes.toString("base64") },
    { name: "base64 without padding", text: bytes.toString("base64").replace(/=+$/, "") },
    { name: "base64url", text: bytes.toString("base64url") },
    { name: "hex", text: bytes.toString("hex") },
    { name: "hex in capitals", text: bytes.toString("hex").toUpperCase() },
    { name: "percent-encoded", text: percent },
    { name: "percent-encoded in lower case", text: percent.toLowerCase() },
    { name: "percent-encoded twice", text: encodeURIComponent(percent) },
    {
      name: "form-encoded twice",
      text: `${new URLSearchParams({ a: `${new URLSearchParams({ b: secret })}` })}`,
    },
    { name: "in HTML", text: html.replaceAll("'", "&#39;") },
    { name: "in HTML, with a named apostrophe", text: html.replaceAll("'", "&apos;") },
    { name: "in HTML, with a hexadecimal apostrophe", text: html.replaceAll("'", "&#x27;") },
    { name: "in JSON", text: JSON.stringify(secret) },
    { name: "in JSON, with its slashes escaped", text: JSON.stringify(secret).replaceAll("/", "\\/") },
    { name: "in JSON inside JSON", text: JSON.stringify(JSON.stringify(secret)) },
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

  const unusual = [
    { name: "Unicode escapes", text: hexes.map((hex) => `\\u${hex}`).join("") },
    { name: "Unicode escapes inside JSON", text: JSON.stringify(hexes.map((hex) => `\\u${hex}`).join("")) },
    { name: "Unicode escapes in braces", text: hexes.map((hex) => `\\u{${hex}}`).join("") },
    { name: "hexadecimal escapes", text: hexes.map((hex) => `\\x${hex.slice(2)}`).join("") },
    { name: "HTML's decimal numbers", text: codes.map((code) => `&#${code};`).join("") },
    { name: "HTML's hexadecimal numbers", text: hexes.map((hex) => `&#x${hex};`).join("") },
    { name: "in HTML twice", text: html.replaceAll("&", "&amp;") },
    { name: "every byte percent-encoded", text: bytes.toString("hex").replace(/../g, "%$&") },
    { name: "percent-encoded three times", text: encodeURIComponent(encodeURIComponent(percent)) },
    { name: "percent-encoded here and there", text: secret.replace("c", "%63").replace("/", "%2f") },
    { name: "in hex as the console prints bytes", text: bytes.toString("hex").replace(/../g, "$& ") },
    { name: "in hex as C writes bytes", text: bytes.toString("hex").replace(/../g, "0x$&, ") },
    { name: "as HTTP's Basic sends it", text: Buffer.from(`id:${secret}`).toString("base64") },
    { name: "in base64 of something longer", text: Buffer.from(`x=${secret}&y=1`).toString("base64") },
    { name: "the same in base64url", text: Buffer.from(`xy=${secret}&y=1`).toString("base64url") },
    { name: "in base64 with line breaks", text: bytes.toString("base64").replace(/.{8}/g, "$&\n") },
    { name: "base64, percent-encoded", text: encodeURIComponent(bytes.toString("base64")) },
    { name: "as the console quotes it", text: `'${secret.replace("'", "\\'")}'` },
  ];
  for (const { name, text } of unusual) {
    test(`shows nothing of a text with the secret in it: ${name}`, () => {
      expect(redact(`before it: ${text} :after it`, [secret])).toMatch(/\[hidden\]/);
      for (const part of [text, text.slice(0, 12)]) expect(redact(text, [secret])).not.toContain(part);
    });
  }

  test("does not look for the code of a short secret, which innocent texts hold", () => {
    const innocent = "id 616263 and YWJj, %61%62";
    expect(redact(innocent, ["abc"])).toBe(innocent);
    expect(redact("it is abc", ["abc"])).toBe("it is [hidden]");
  });

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
