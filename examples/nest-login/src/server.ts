import type { AddressInfo } from "node:net";
import { createApp } from "./app.js";
import { openDatabase } from "./database.js";
import { settingsFrom } from "./settings.js";

const settings = settingsFrom(process.env);
const { close, ...kept } = openDatabase(settings.databaseFile);
const app = await createApp(settings, kept);
await app.listen(settings.port);
console.log(`Open http://localhost:${(app.getHttpServer().address() as AddressInfo).port}`);

// Finishes what is under way, then ends; a second signal ends at once.
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => void app.close());
// Last of all: a renewal goes on when the browser that caused it has left, and its token has to be saved.
process.once("exit", close);
