import Koa3 from "koa";
import Koa2 from "koa2";
import { answerTo, bearerStory } from "../../../test/support/bearer-story.js";
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
}
