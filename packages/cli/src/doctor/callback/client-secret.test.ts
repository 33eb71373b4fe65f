import { expect, test } from "vitest";
import { clientSecret } from "./client-secret.js";

const right = {
  baseUrl: "https://{domain_prefix}.retail.example",
  clientId: "the-application",
  clientSecret: "canary-secret",
  redirectUri: "https://app.example.net/callback",
  domainPrefix: "shop",
};

test.each([
  ["a line break at the end of the secret", { clientSecret: "canary-secret\n" }, "clientSecret"],
  [
    "a redirect_uri that is neither https nor on loopback",
    { redirectUri: "http://192.0.2.20:3000/cb" },
    "redirectUri",
  ],
  [
    "a redirect_uri with a fragment",
    { redirectUri: "https://app.example.net/callback#canary" },
    "redirectUri",
  ],
])("%s is a finding, and ends no report", async (_, wrong, option) => {
  const findings = await clientSecret({ ...right, ...wrong }, 1000);
  expect(findings).toMatchObject([{ level: "problem", check: "client-secret" }]);
  expect(JSON.stringify(findings)).toContain(option);
  expect(JSON.stringify(findings)).not.toContain("canary");
});
