// biome-ignore-all assist/source/organizeImports: a table of contents, in the README's order
export { type OpenTelemetryOptions, openTelemetry } from "./open-telemetry.js";
export { type CountRetailersOptions, countRetailers } from "./count-retailers.js";
