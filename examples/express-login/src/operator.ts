import { retailPos } from "@retail-pos/core";
import { settingsFrom } from "./settings.js";
import { openStore } from "./store.js";

// For the commands of @retail-pos/cli: --client ./dist/operator.js
const settings = settingsFrom(process.env);
const { tokens } = await openStore(settings);
export const client = retailPos({ ...settings.service, ...tokens });
