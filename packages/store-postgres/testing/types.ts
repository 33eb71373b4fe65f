// Read by tsc alone, in `pnpm types`: whatever stands here holds if it compiles. Nothing of it is ever run.

import type pg from "pg";
import type { Pool as Pool86 } from "pg-types-86";
import { expectTypeOf } from "vitest";
import type { PostgresPool } from "../src/index.js";

export const types = {
  "TypeScript takes a Pool as pg's types have it, the newest and the oldest for pg 8"() {
    expectTypeOf<pg.Pool>().toExtend<PostgresPool>();
    expectTypeOf<Pool86>().toExtend<PostgresPool>();
    expectTypeOf<Pool86>().not.toBeAny(); // its types were found
  },
};
