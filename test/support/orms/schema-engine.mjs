#!/usr/bin/env node
// Prisma's schema engine as npm has it, compiled to WASM, in the place of the native one that Prisma's commands would
// download: PRISMA_SCHEMA_ENGINE_BINARY names it, and each line on stdin is a request of JSON-RPC. It has to lie where
// Prisma is installed.
import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { parseArgs } from "node:util";
import { PrismaPg } from "@prisma/adapter-pg";
import { bindMigrationAwareSqlAdapterFactory } from "@prisma/driver-adapter-utils";
import * as engine from "@prisma/schema-engine-wasm/schema_engine_bg";
import pg from "pg";

const { values, positionals } = parseArgs({
  options: {
    datamodels: { type: "string", multiple: true },
    datasource: { type: "string", default: "{}" },
  },
  allowPositionals: true,
});
if (positionals.includes("can-connect-to-database")) process.exit();

globalThis.PRISMA_WASM_PANIC_REGISTRY = { set_message: console.error };
const wasm = new URL("schema_engine_bg.wasm", import.meta.resolve("@prisma/schema-engine-wasm"));
const { instance } = await WebAssembly.instantiate(readFileSync(wasm), { "./schema_engine_bg.js": engine });
engine.__wbg_set_wasm(instance.exports);
instance.exports.__wbindgen_start();

// The adapter cannot read columns of type "char" (18), which PostgreSQL's catalogues have. As text (25) it can.
const { handleRowDescription } = pg.Query.prototype;
pg.Query.prototype.handleRowDescription = function (message) {
  for (const field of message.fields) if (field.dataTypeID === 18) field.dataTypeID = 25;
  handleRowDescription.call(this, message);
};

const { host, port, user, password, database } = new pg.Client(JSON.parse(values.datasource).url);
const adapterTo = (name) => new PrismaPg({ host, port, user, password, database: name });
const adapter = adapterTo(database);
// The adapter's own drops the shadow database while it is still connected to it.
adapter.connectToShadowDb = async () => {
  const name = `prisma_shadow_${randomUUID()}`;
  const main = await adapter.connect();
  await main.executeScript(`CREATE DATABASE "${name}"`);
  const shadow = await adapterTo(name).connect();
  const leave = shadow.dispose.bind(shadow);
  shadow.dispose = async () => {
    await leave();
    await main.executeScript(`DROP DATABASE "${name}"`);
    await main.dispose();
  };
  return shadow;
};

const datamodels = values.datamodels?.map((file) => [file, readFileSync(file, "utf8")]);
const running = await engine.SchemaEngine.new(
  { ...(datamodels && { datamodels }) },
  () => {},
  bindMigrationAwareSqlAdapterFactory(adapter),
);
for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line);
  if (!method) continue;
  try {
    const result = await resultOf(method, params);
    if (method === "diff") say({ id: 0, method: "print", params: { content: result.stdout } });
    say({ id, result: result ?? {} });
  } catch ({ message }) {
    say({ id, error: { code: 4466, message, data: { is_panic: false, message } } });
  }
}
process.exit(); // and not ten seconds later, with the adapter's idle connections

// This build gives `evaluateDataLoss` and `createMigration` no shadow database. The first only warns of what the second
// is about to do, and the second writes what `diff` finds between the migrations and the schema.
async function resultOf(method, params) {
  if (method === "evaluateDataLoss") return { migrationSteps: 0, warnings: [], unexecutableSteps: [] };
  if (method === "createMigration") return created(params);
  return running[method](params);
}

async function created({ migrationName, migrationsList, schema, filters }) {
  const { path, content } = migrationsList.lockfile;
  const lockfile = { path, content: content ?? 'provider = "postgresql"' }; // Prisma writes it after the first
  const from = { tag: "migrations", ...migrationsList, lockfile };
  const to = { tag: "schemaDatamodel", ...schema };
  const { exitCode, stdout } = await resultOf("diff", { from, to, filters, script: true, exitCode: true });
  const time = new Date().toISOString().replaceAll(/\D/g, "").slice(0, 14);
  return {
    connectorType: "postgresql",
    generatedMigrationName: `${time}_${migrationName}`,
    migrationScript: exitCode === 2 ? stdout : null,
    extension: "sql",
  };
}

function say(message) {
  process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
}
