export type { BearerOptions, RequestBearer } from "@retail-pos/core";
export { bearer } from "./bearer.js";
