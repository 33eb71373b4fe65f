// Read by tsc alone, in `pnpm types`: whatever stands here holds if it compiles. Nothing of it is ever run.

import Koa from "koa";
import { expectTypeOf } from "vitest";
import type { RequestBearer } from "../src/index.js";

export const types = {
  "ctx.state.retailPos is typed by importing the package"() {
    new Koa().use(async (ctx) => {
      expectTypeOf(ctx.state.retailPos).toEqualTypeOf<RequestBearer>();
    });
  },
};
