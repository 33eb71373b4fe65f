import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type RetailPos, retailPos } from "@retail-pos/core";
import { type Sandbox, startSandbox, type VirtualClock, virtualClock } from "@retail-pos/sandbox";
import { sqliteTokens } from "@retail-pos/store-sqlite";
import Database from "libsql";
import { expect, onTestFinished, test } from "vitest";

// What docs/operating.md says about a restored backup, with a real one.

const LIFETIME_MS = 600_000;
const [renewed, quiet, later] = ["harbour-coffee", "second-chapter", "rosas-bikes"] as const;

test("a restored backup costs a login to those who were renewed or logged in since, and to nobody else", async () => {
  const { clock, sandbox, open, backUp, restore, logIn } = await application();
  let pos = open();
  await logIn(pos, renewed);
  await logIn(pos, quiet);
  backUp();
  clock.advance(LIFETIME_MS);
  await pos.tokens(renewed).token(); // rotates: the backup's refresh token is spent
  await logIn(pos, later);

  restore();
  pos = open();
  expect(await outcomes(pos)).toEqual(["reconnect_required", "served", "not_connected"]);
  expect(await pos.status(renewed)).toMatchObject({ refusedAt: clock() }); // so the fleet can be asked who they are
  for (const retailer of [renewed, later]) await logIn(pos, retailer);
  expect(await outcomes(pos)).toEqual(["served", "served", "served"]);
  expect(sandbox.tokenRequests(quiet)).toHaveLength(2);
});

test("while the access token of the backup lives, the API's 401 brings it to light", async () => {
  const { open, backUp, restore, logIn, clock, sandbox } = await application();
  let pos = open();
  await logIn(pos, renewed);
  backUp();
  clock.advance(LIFETIME_MS * 0.95);
  await pos.renewDue();
  expect(sandbox.tokenRequests(renewed)).toHaveLength(2);

  restore();
  pos = open();
  expect(await outcomeOf(pos, renewed)).toBe("served"); // nobody can know yet
  await expect(pos.retailer(renewed).fetch("api/products")).rejects.toMatchObject({
    code: "reconnect_required",
  });
});

test("a process that goes on running takes what was restored for a newer login", async () => {
  const { open, backUp, restoreBeneath, logIn, clock } = await application();
  const pos = open();
  await logIn(pos, renewed);
  backUp();
  clock.advance(LIFETIME_MS * 0.95);
  await pos.renewDue();
  const { value } = await pos.tokens(renewed).token();

  restoreBeneath();
  expect((await pos.tokens(renewed).token()).value).toBe(value);
  clock.advance(11_000); // longer than a process trusts its copy
  expect((await pos.tokens(renewed).token()).value).not.toBe(value);
  await expect(pos.retailer(renewed).fetch("api/products")).rejects.toMatchObject({
    code: "reconnect_required",
  });
});

test("who disconnected since the backup is connected again, and has to be disconnected once more", async () => {
  const { open, backUp, restore, logIn } = await application();
  await logIn(open(), quiet);
  backUp();
  await open().disconnect(quiet);
  restore();
  expect((await open().retailer(quiet).fetch("api/products")).status).toBe(200);
  await open().disconnect(quiet);
  expect(await outcomeOf(open(), quiet)).toBe("not_connected");
});

async function application() {
  const clock = virtualClock();
  const sandbox = await startSandbox({ clock, rotation: "always", lifetimeMs: LIFETIME_MS });
  const folder = mkdtempSync(join(tmpdir(), "retail-pos-backup-"));
  const [file, backup] = [join(folder, "tokens.sqlite"), join(folder, "backup.sqlite")];
  let database = new Database(file);
  onTestFinished(async () => {
    database.close();
    rmSync(folder, { recursive: true });
    await sandbox.close();
  });
  return {
    clock,
    sandbox,
    /** A process that has just started. */
    open: () => clientOf(sandbox, clock, database),
    backUp: () => void database.exec(`VACUUM INTO '${backup}'`),
    /** The application has stopped, and starts on what was kept. */
    restore() {
      database.close();
      database = new Database(backup);
    },
    /** With the application running. */
    restoreBeneath() {
      database.exec(`ATTACH '${backup}' AS backup`);
      database.exec("INSERT OR REPLACE INTO retail_pos_tokens SELECT * FROM backup.retail_pos_tokens");
    },
    async logIn(pos: RetailPos, retailer: string) {
      await pos.connect(
        await pos.exchange(retailer, sandbox.approve(retailer).searchParams.get("code") ?? ""),
      );
    },
  };
}

function clientOf(
  { application, authUrl, baseUrl }: Sandbox,
  clock: VirtualClock,
  database: Database.Database,
) {
  return retailPos({ ...application, authUrl, baseUrl, clock, ...sqliteTokens({ database }) });
}

const outcomes = (pos: RetailPos) => Promise.all([renewed, quiet, later].map((each) => outcomeOf(pos, each)));

function outcomeOf(pos: RetailPos, retailer = ""): Promise<string> {
  return pos
    .tokens(retailer)
    .token()
    .then(
      () => "served",
      ({ code }) => code,
    );
}
