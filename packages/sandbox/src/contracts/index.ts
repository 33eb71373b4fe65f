/** The tests that every store and every lock must pass, for any runner. */
export type { ContractTest } from "./contract-test.js";
export { type LockContractOptions, lockContract } from "./lock-contract.js";
export { type StoreContractOptions, storeContract } from "./store-contract.js";
