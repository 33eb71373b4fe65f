// Starts the sandbox and the Express example in one process, and says what to open. Ctrl-C ends both.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createApp } from "../examples/express-login/dist/app.js";
import { settingsFrom } from "../examples/express-login/dist/settings.js";
import { openStore } from "../examples/express-login/dist/store.js";
import { startSandbox } from "../packages/sandbox/dist/index.js";

const sandboxPort = portFrom("SANDBOX_PORT", 4010);
portFrom("PORT", 3000); // the example's own setting, looked at before anything starts
// Short, so that one can watch tokens being renewed in the console.
const lifetimeMs = 60_000;

// A new database each time: the sandbox knows nothing of the tokens an earlier one gave.
const folder = mkdtempSync(join(tmpdir(), "retail-pos-demo-"));
process.once("exit", () => rmSync(folder, { recursive: true, force: true }));

const settings = settingsFrom({ PORT: process.env.PORT, DATABASE_FILE: join(folder, "login.sqlite") });
const { redirectUri } = settings.service;
const sandbox = await startSandbox({ port: sandboxPort, lifetimeMs, redirectUri }).catch(giveUp);
const { authUrl, baseUrl } = sandbox;
const { tokens, sessions } = await openStore(settings);
const app = createApp(
  { ...settings, service: { ...settings.service, authUrl, baseUrl } },
  { ...tokens, sessions },
);
const server = app.listen(settings.PORT, "127.0.0.1", (error) => {
  if (error) giveUp(error);
  const app = `http://localhost:${settings.PORT}`;
  const width = Math.max(app.length, sandbox.url.length);
  console.log(`
  Open     ${app.padEnd(width)}    and log in with a store
  Watch    ${sandbox.url.padEnd(width)}    every request, and buttons that make trouble

  Access tokens live ${lifetimeMs / 1000} seconds here. Reload the products after that: nothing to notice.
  Ctrl-C ends both.
`);
});

for (const signal of ["SIGINT", "SIGTERM"]) {
  process.once(signal, async () => {
    server.close();
    server.closeAllConnections();
    await sandbox.close();
  });
}

function portFrom(name, otherwise) {
  const text = process.env[name] ?? String(otherwise);
  if (!/^\d{1,5}$/.test(text)) giveUp(new Error(`${name} must be a number`));
  return Number(text);
}

/** A port in use is the usual reason; the way out is another one. Node's error is the sandbox's cause. */
function giveUp(error) {
  const { code, port } = error.cause ?? error;
  const isTaken = code === "EADDRINUSE";
  const why = isTaken ? `port ${port} is in use. Choose others: PORT=3001 SANDBOX_PORT=4011` : error.message;
  console.error(`The demo could not start: ${why}`);
  process.exit(1);
}
