// What a program imports of ours for a login, in one file: runtime.test.ts runs it where there is no Node.
export * from "../../core/src/index.js";
export * from "../src/index.js";
