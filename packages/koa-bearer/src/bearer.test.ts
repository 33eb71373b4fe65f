import Koa3 from "koa";
import Koa2 from "koa2";
import { expect, expectTypeOf, test } from "vitest";
import { answerTo, bearerStory } from "../../../test/support/bearer-story.js";
import { bearer, type RequestBearer } from "./index.js";

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
}

test("ctx.state.retailPos is typed by importing the package", () => {
  const app = new Koa3();
  app.use(async (ctx) => {
    expectTypeOf(ctx.state.retailPos).toEqualTypeOf<RequestBearer>();
  });
  expect(app.middleware).toHaveLength(1);
});
