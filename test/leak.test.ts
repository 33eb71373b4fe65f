import { execFile, fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { retailPos } from "@retail-pos/core";
import { startSandbox } from "@retail-pos/sandbox";
import { sealedStore } from "@retail-pos/sealed-store";
import { sqliteTokens } from "@retail-pos/store-sqlite";
import Database from "libsql";
import { expect, onTestFinished, test } from "vitest";

// The runbook "a key, the database or the client secret leaked", played step by step beside a process that uses what
// leaked: what each step ends, and what works until then. The retailers are named after what befalls them.

const LIFETIME_MS = 3_600_000;
const [copied, robbed, noticed] = ["harbour-coffee", "second-chapter", "rosas-bikes"] as const;
const retailers = [copied, noticed, robbed];
const keyOf = (id: string) => ({ id, secret: Buffer.alloc(32, id).toString("base64") });
const [OLD, NEW] = [keyOf("old"), keyOf("new")];
const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));

test("each step of the runbook ends what it says, and no more", async () => {
  const { sandbox, copy, deploy, retailPosCommand, pass, startThief, logIn } = await application();
  const before = deploy([OLD]);
  for (const retailer of retailers) await logIn(before, retailer);
  const thief = startThief();

  // Until step 1 everything works: reading, calling the API, and renewing, which ends the application's tokens.
  expect(await thief("open", copy())).toEqual(retailers);
  expect(await thief("call", copied)).toBe(200);
  for (const retailer of [robbed, noticed]) expect(await thief("renew", retailer)).toBe("renewed");
  const products = () => before.retailer(noticed).fetch("api/products");
  await expect(products()).rejects.toMatchObject({ code: "reconnect_required" });
  await logIn(before, noticed); // a new login is no step of the runbook: it ends nothing that leaked
  expect(await thief("call", noticed)).toBe(200);
  expect(await thief("renew", noticed)).toBe("renewed");

  // Step 1, the client secret: no renewal any more. Copied access tokens work, and new copies can be opened.
  sandbox.changeClientSecret("a new client secret");
  const withNewSecret = deploy([OLD]);
  for (const retailer of retailers) expect(await thief("renew", retailer)).toBe("invalid_client");
  for (const retailer of retailers) expect(await thief("call", retailer)).toBe(200);
  expect((await withNewSecret.retailer(copied).fetch("api/products")).status).toBe(200);
  const later = startThief();
  await later("open", copy());
  expect(await later("call", copied)).toBe(200);

  // Step 2, the keys: a new copy cannot be opened. What was copied before still works.
  expect(await retailPosCommand([NEW, OLD], "reseal")).toMatchObject({ code: 0 });
  expect(await startThief()("open", copy())).toEqual([]);
  expect(await later("call", copied)).toBe(200);

  // Step 3, renewing: every token that was in a copy is refused. What the thief renewed lives until its end, and the
  // retailer whose tokens these replaced is left over.
  const instant = String(Date.now());
  const renewing = await retailPosCommand([NEW], "renew-due", "--issued-before", instant);
  expect(renewing).toMatchObject({
    code: 1,
    stdout: expect.stringMatching(/2 renewed\n.*1 failed\n.*\n1 left to renew\n$/s),
  });
  for (const retailer of [copied, noticed]) expect(await later("call", retailer)).toBe(401);
  expect(await thief("call", robbed)).toBe(200);
  const after = deploy([NEW]);
  for (const retailer of [copied, noticed])
    expect((await after.retailer(retailer).fetch("api/products")).status).toBe(200);
  await expect(after.retailer(robbed).fetch("api/products")).rejects.toMatchObject({
    code: "reconnect_required",
  });
  await logIn(after, robbed);

  // The end: an access token's lifetime after step 1 nothing that leaked works, and all retailers are served.
  pass(LIFETIME_MS);
  for (const retailer of retailers) expect(await thief("call", retailer)).toBe(401);
  for (const retailer of retailers)
    expect((await after.retailer(retailer).fetch("api/products")).status).toBe(200);
  expect(await thief("renew", copied)).toBe("invalid_client");
});

test("if the service keeps refresh tokens, step 1 alone ends the thief's renewals; access tokens end by themselves", async () => {
  const { sandbox, copy, deploy, retailPosCommand, startThief, logIn, pass } = await application("never");
  await logIn(deploy([OLD]), copied);
  const thief = startThief();
  await thief("open", copy());
  sandbox.changeClientSecret("a new client secret");
  await retailPosCommand([NEW, OLD], "reseal");
  const renewing = await retailPosCommand([NEW], "renew-due", "--issued-before", String(Date.now()));
  expect(renewing).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/1 renewed\n.*\n0 left to renew\n$/s),
  });
  expect(await thief("call", copied)).toBe(200);
  expect(await thief("renew", copied)).toBe("invalid_client");
  pass(LIFETIME_MS);
  expect(await thief("call", copied)).toBe(401);
});

async function application(rotation: "always" | "never" = "always") {
  let aheadMs = 0;
  const clock = () => Date.now() + aheadMs;
  const sandbox = await startSandbox({ clock, rotation, lifetimeMs: LIFETIME_MS });
  const leakedSecret = sandbox.application.clientSecret;
  const folder = mkdtempSync(join(tmpdir(), "retail-pos-leak-"));
  const file = join(folder, "tokens.sqlite");
  const open = new Set<Database.Database>();
  let copies = 0;
  onTestFinished(async () => {
    for (const database of open) database.close();
    await sandbox.close();
    rmSync(folder, { recursive: true });
  });

  return {
    sandbox,
    copy,
    deploy,
    retailPosCommand,
    startThief,
    logIn,
    pass: (ms: number) => (aheadMs += ms),
  };

  /** A process of the application that has just started, with these keys and the client secret of now. */
  function deploy(keys: { id: string; secret: string }[]) {
    const database = new Database(file);
    open.add(database);
    const { store, lock } = sqliteTokens({ database });
    const { authUrl, baseUrl, application } = sandbox;
    const sealed = sealedStore(store, { keys });
    return retailPos({ ...application, authUrl, baseUrl, clock, lock, store: sealed, cacheMs: 0 });
  }

  async function logIn(pos: ReturnType<typeof deploy>, retailer: string): Promise<void> {
    await pos.connect(await pos.exchange(retailer, sandbox.approve(retailer).searchParams.get("code") ?? ""));
  }

  /** A copy of the database as it is now. */
  function copy(): string {
    const database = new Database(file);
    const target = join(folder, `copy-${++copies}.sqlite`);
    database.exec(`VACUUM INTO '${target}'`);
    database.close();
    return target;
  }

  function retailPosCommand(keys: { id: string; secret: string }[], ...args: string[]) {
    const { authUrl, baseUrl, application } = sandbox;
    const env = {
      ...process.env,
      DATABASE_FILE: file,
      KEYS: JSON.stringify(keys),
      RETAIL_POS_AUTH_URL: authUrl,
      RETAIL_POS_BASE_URL: baseUrl,
      RETAIL_POS_CLIENT_ID: application.clientId,
      RETAIL_POS_CLIENT_SECRET: application.clientSecret,
      RETAIL_POS_REDIRECT_URI: application.redirectUri,
    };
    const bin = here("../packages/cli/dist/bin.js");
    const all = [bin, ...args, "--client", here("support/leaked-application.mjs")];
    return new Promise<{ code: unknown; stdout: string; stderr: string }>((resolve) => {
      execFile(process.execPath, all, { env }, (error, stdout, stderr) =>
        resolve({ code: error?.code ?? 0, stdout, stderr }),
      );
    });
  }

  /** Another process, with what leaked at the start: the first key and the first client secret. */
  function startThief() {
    const env = {
      ...process.env,
      KEYS: JSON.stringify([OLD]),
      BASE_URL: sandbox.baseUrl,
      CLIENT_ID: sandbox.application.clientId,
      CLIENT_SECRET: leakedSecret,
    };
    const child = fork(here("support/thief.mjs"), { env });
    onTestFinished(() => void child.disconnect());
    return async (deed: "open" | "call" | "renew", of: string): Promise<unknown> => {
      child.send([deed, of]);
      const [answer] = await once(child, "message");
      return answer;
    };
  }
}
