import { retailPos } from "@retail-pos/core";
import express5 from "express";
import express4 from "express4";
import { expect, test } from "vitest";
import { answerTo, bearerStory } from "../../../test/support/bearer-story.js";
import { bearer } from "./index.js";

for (const [name, express] of [
  ["Express 5", express5],
  ["Express 4", express4],
] as const) {
  bearerStory({
    name,
    bearer,
    app(options) {
      const app = express();
      app.set("env", "test"); // Express's own error handler, without its log line
      app.use(bearer(options), (req, res, next) => {
        answerTo(req.retailPos, req.headers).then((answer) => res.json(answer), next);
      });
      return app;
    },
  });
}

for (const reason of [undefined, null, "route", "router", 0]) {
  test(`a retailer option that fails with ${JSON.stringify(reason)} is an error, never a way on`, async () => {
    const client = retailPos({
      authUrl: "https://login.example.com",
      baseUrl: "https://{domain_prefix}.example.com",
      clientId: "id",
      clientSecret: "secret",
      redirectUri: "https://app.example.net/callback",
    });
    const atOnce = () => {
      throw reason;
    };
    for (const retailer of [atOnce, () => Promise.reject(reason)]) {
      const middleware = bearer({ client, retailer });
      const [req, res] = [{ headers: {} }, {}] as unknown as Parameters<typeof middleware>;
      const told = await new Promise((resolve) => void middleware(req, res, resolve));
      expect(told).toBeInstanceOf(Error);
      expect(told).toMatchObject({ cause: reason });
    }
  });
}
