import { memoryStore } from "@retail-pos/core";
import fc from "fast-check";
import { expect, test } from "vitest";
import { anything, holds, spoilt, unlessRefused } from "../../../test/support/fuzz.js";
import { type RedisTokensOptions, redisTokens } from "./index.js";

const client = { eval: async () => "none", evalsha() {} };
const nodeRedis = { eval: async () => "none", evalSha() {} };

test("options either work or are refused by a TypeError that names one of them", async () => {
  const values = fc.constantFrom<unknown>(
    nodeRedis,
    { eval() {} },
    { evalsha() {} },
    memoryStore(),
    "other:",
    "{a}",
  );
  await holds(
    fc.property(
      spoilt({ client, prefix: "mine:", replicas: 1 }, ["client", "prefix", "replicas"], values),
      (options) => {
        const tokens = unlessRefused(
          () => redisTokens(options as RedisTokensOptions),
          ["options", "client", "prefix", "replicas"],
        );
        expect(tokens !== undefined).toBe(
          [client, nodeRedis].includes(options.client as never) &&
            ["string", "undefined"].includes(typeof options.prefix) &&
            (options.replicas === undefined ||
              (Number.isInteger(options.replicas) && (options.replicas as number) > 0)),
        );
      },
    ),
    2_000,
  );
});

test("nothing but an object is options", async () => {
  await holds(
    fc.property(anything(), (options) => {
      const work = () => redisTokens(options as RedisTokensOptions);
      expect(unlessRefused(work, ["options", "client", "prefix"])).toBeUndefined();
    }),
    500,
  );
});
