export type { SealingKey } from "./keys.js";
export { type SealedStoreOptions, sealedStore } from "./sealed-store.js";
