export type { SealingKey } from "./keys.js";
export { type SealedStore, type SealedStoreOptions, sealedStore } from "./sealed-store.js";
