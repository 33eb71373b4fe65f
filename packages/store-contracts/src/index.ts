/** What every store and every lock promises, as tests for any runner. */
export type { ContractTest } from "./contract-test.js";
export { type LockContractOptions, lockContract } from "./lock-contract.js";
export { type StoreContractOptions, storeContract } from "./store-contract.js";
