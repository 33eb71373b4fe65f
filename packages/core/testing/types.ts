// Read by tsc alone, in `pnpm types`: whatever stands here holds if it compiles. Nothing of it is ever run.

import { expectTypeOf } from "vitest";
import {
  type AnyRetailPosError,
  type BearerOptions,
  isRetailPosError,
  type RetailPos,
  type RetailPosError,
} from "../src/index.js";

export const types = {
  "the code of an error tells its class"() {
    const read = (error: unknown) => {
      if (!isRetailPosError(error)) return undefined;
      expectTypeOf(error).toExtend<RetailPosError>();
      if (error.code === "rate_limited") expectTypeOf(error.retryAt).toEqualTypeOf<number>();
      if (error.code === "client_refused") expectTypeOf(error.error).toEqualTypeOf<string>();
      return error.code;
    };
    expectTypeOf(read).returns.toEqualTypeOf<AnyRetailPosError["code"] | undefined>();
  },

  "a bearer is for a client and its retailers, or for a personal token: not for half of one, nor for both"() {
    type Options = BearerOptions<object>;
    const client = {} as RetailPos;
    const personalToken = { baseUrl: "https://shop.example", domainPrefix: "shop", token: "token" };
    expectTypeOf({ client, retailer: () => "shop" }).toExtend<Options>();
    expectTypeOf({ personalToken, optional: true }).toExtend<Options>();
    expectTypeOf({ client }).not.toExtend<Options>();
    expectTypeOf({ client, retailer: () => "shop", personalToken }).not.toExtend<Options>();
  },
};
