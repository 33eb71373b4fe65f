export type { SealingKey } from "./keys.js";
export { type SealedStore, type SealedStoreOptions, type SealOutcome, sealedStore } from "./sealed-store.js";
