import { postgresTokens } from "@retail-pos/store-postgres";
import { ours } from "./ours.mjs";

export default {
  name: "ours, PostgreSQL",
  create: ({ pool, table, ...application }) =>
    ours({ ...application, tokens: postgresTokens({ pool, table }) }),
};
