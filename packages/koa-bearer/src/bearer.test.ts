import { retailPos } from "@retail-pos/core";
import Koa3 from "koa";
import Koa2 from "koa2";
import { expect, test } from "vitest";
import { answerTo, bearerStory } from "../../../test/support/bearer-story.js";
import { listen } from "../../../test/support/listen.js";
import { bearer } from "./index.js";

for (const [name, Koa] of [
  ["Koa 3", Koa3],
  ["Koa 2", Koa2],
] as const) {
  bearerStory({
    name,
    bearer,
    app(options) {
      const app = new Koa();
      app.silent = true; // no log line from Koa's own error handler
      app.use(bearer(options));
      app.use(async (ctx) => {
        ctx.body = await answerTo(ctx.state.retailPos, ctx.headers);
      });
      return app.callback();
    },
  });

  for (const reason of [undefined, null, "text", 0]) {
    test(`${name} answers where a retailer option fails with ${JSON.stringify(reason)}`, async () => {
      const client = retailPos({
        baseUrl: "https://{domain_prefix}.example.com",
        clientId: "id",
        clientSecret: "secret",
      });
      const atOnce = () => {
        throw reason;
      };
      for (const retailer of [atOnce, () => Promise.reject(reason)]) {
        const app = new Koa();
        const errors: unknown[] = [];
        app.on("error", (error) => errors.push(error));
        app.use(bearer({ client, retailer }));
        const { origin, close } = await listen(app.callback());
        expect((await fetch(origin)).status).toBe(500);
        expect(errors).toMatchObject([{ cause: reason }]);
        await close();
      }
    });
  }
}
