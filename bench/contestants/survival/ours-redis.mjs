import { redisTokens } from "@retail-pos/store-redis";
import { ours } from "./ours.mjs";

export default {
  name: "ours, Redis",
  create: ({ redis, table, ...application }) =>
    ours({ ...application, tokens: redisTokens({ client: redis, prefix: `${table}:` }) }),
};
