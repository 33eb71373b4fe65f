export type { BearerOptions, RequestBearer } from "@retail-pos/core";
export { type BearerHook, bearer } from "./bearer.js";
