// Starts the sandbox and the Express example in one process, and says what to open. Ctrl-C ends both.
import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createApp } from "../examples/express-login/dist/app.js";
import { settingsFrom } from "../examples/express-login/dist/settings.js";
import { openStore } from "../examples/express-login/dist/store.js";
import { startSandbox } from "../packages/sandbox/dist/index.js";

const sandboxPort = portFrom("SANDBOX_PORT", 4010);
const port = portFrom("PORT", 3000);
// Short, so that one can watch tokens being renewed in the console.
const lifetimeMs = 60_000;

// A new database each time: the sandbox knows nothing of the tokens an earlier one gave.
const folder = mkdtempSync(join(tmpdir(), "retail-pos-demo-"));
process.once("exit", () => rmSync(folder, { recursive: true, force: true }));

const redirectUri = `http://localhost:${port}/auth/retail-pos/callback`;
const sandbox = await startSandbox({ port: sandboxPort, lifetimeMs, redirectUri }).catch(giveUp);
const settings = settingsFrom({
  PORT: String(port),
  DATABASE_FILE: join(folder, "login.sqlite"),
  RETAIL_POS_AUTH_URL: sandbox.authUrl,
  RETAIL_POS_BASE_URL: sandbox.baseUrl,
  RETAIL_POS_CLIENT_ID: sandbox.application.clientId,
  RETAIL_POS_CLIENT_SECRET: sandbox.application.clientSecret,
  RETAIL_POS_REDIRECT_URI: redirectUri,
  SESSION_SECRET: randomBytes(32).toString("hex"),
});
const { tokens, sessions } = await openStore(settings);
const app = createApp(settings, { ...tokens, sessions });
const server = app.listen(port, "127.0.0.1", (error) => {
  if (error) giveUp(error);
  const app = `http://localhost:${port}`;
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
