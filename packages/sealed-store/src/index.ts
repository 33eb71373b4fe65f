export { type SealingKey, sealingKeys } from "./keys.js";
export {
  type SealedStore,
  type SealedStoreOptions,
  type SealOutcome,
  sealedStore,
  type UnsealOutcome,
} from "./sealed-store.js";
