import { expect, test } from "vitest";
import { startSandbox } from "./index.js";

const mistakes: [option: string, value: unknown][] = [
  ["port", -1],
  ["port", 65_536],
  ["port", "4010"],
  ["rotation", "often"],
  ["lifetimeMs", 999],
  ["lifetimeMs", 1000.5],
  ["rateLimit", 10],
  ["rateLimit", null],
  ["rateLimit", { limit: 0, windowMs: 1000 }],
  ["rateLimit", { limit: 1, windowMs: 0 }],
  ["hostPerStore", "yes"],
  ["tls", false],
  ["tls", true],
  ["tls", null],
  ["tls", { key: "a key alone" }],
  ["apiRateLimit", null],
  ["apiRateLimit", { limit: 0, windowMs: 1000 }],
  ["apiRateLimit", { limit: 1, windowMs: 0.5 }],
  ["scopes", "products:read"],
  ["scopes", null],
  ["scopes", ["products:read sales:read"]],
  ["scopes", [""]],
  ["scopes", ["a", "a"]],
  ["scopes", [5]],
  ["approved", "yes"],
  ["clock", 0],
  ["redirectUri", "/callback"],
  ["redirectUri", "http://localhost:3000/#fragment"],
  ["redirectUri", "javascript:alert(1)"],
  ["clientId", ""],
  ["clientSecret", ""],
  ["stores", 0],
  ["stores", []],
  ["stores", [{ domainPrefix: "Not-Lower", name: "A" }]],
  ["stores", [{ domainPrefix: "a.b", name: "A" }]],
  ["stores", [{ domainPrefix: "a", name: "" }]],
  ["stores", [null]],
  [
    "stores",
    [
      { domainPrefix: "a", name: "A" },
      { domainPrefix: "a", name: "B" },
    ],
  ],
  ["products", -1],
  ["products", 1001],
  ["products", "250"],
  ["lifetime", 3600],
];
for (const [option, value] of mistakes) {
  test(`${option}: ${JSON.stringify(value)} is a TypeError that names the option`, async () => {
    const starting = startSandbox({ [option]: value });
    await expect(starting).rejects.toThrow(TypeError);
    await expect(starting).rejects.toThrow(new RegExp(`^${option} `));
  });
}

test("an option that is undefined is an option not given", async () => {
  const sandbox = await startSandbox({ redirectUri: undefined } as never);
  expect(sandbox.application.redirectUri).toBe("http://localhost:3000/auth/retail-pos/callback");
  await sandbox.close();
});
