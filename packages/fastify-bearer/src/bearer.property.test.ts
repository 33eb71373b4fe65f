import { retailPos } from "@retail-pos/core";
import fc from "fast-check";
import type { FastifyRequest } from "fastify";
import { expect, test } from "vitest";
import { answered, holds, spoilt, unlessRefused } from "../../../test/support/fuzz.js";
import { bearer } from "./bearer.js";

const BASE_URL = "https://{domain_prefix}.example.com";
const client = retailPos({
  authUrl: "https://login.example.com",
  baseUrl: BASE_URL,
  clientId: "the-application",
  clientSecret: "the-client-secret",
  redirectUri: "https://app.example.net/callback",
});
const personal = { baseUrl: BASE_URL, domainPrefix: "shop", token: "personal" };
const names = [
  "client",
  "retailer",
  "personalToken",
  "baseUrl",
  "domainPrefix",
  "token",
  "fetch",
  "optional",
  "header",
];

test("options either work or are refused by a TypeError that names one of them", async () => {
  const values = fc.constantFrom<unknown>(
    client,
    {},
    personal,
    () => "shop",
    () => undefined,
    async () => "a.b",
    undefined,
  );
  const modes = [
    { client, retailer: () => "shop", optional: true, header: true, personalToken: undefined },
    { client: undefined, retailer: undefined, optional: true, header: true, personalToken: personal },
  ];
  await holds(
    fc.asyncProperty(
      fc.oneof(...modes.map((good) => spoilt(good, Object.keys(good), values))),
      async (given) => {
        const hook = unlessRefused(() => bearer(given as never), names);
        if (!hook) return;
        const request = { raw: { headers: {} } } as FastifyRequest;
        const outcome = await answered(
          hook(request).then(
            () => "ok",
            (error) => error.code,
          ),
        );
        expect(["not_connected", "invalid_domain_prefix", "ok"]).toContain(outcome);
      },
    ),
    1_000,
  );
});
