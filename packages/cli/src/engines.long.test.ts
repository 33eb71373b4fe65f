import { randomBytes } from "node:crypto";
import { fileURLToPath } from "node:url";
import { retailPos } from "@retail-pos/core";
import { startSandbox } from "@retail-pos/sandbox";
import { sealedStore } from "@retail-pos/sealed-store";
import { describe, expect, onTestFinished, test } from "vitest";
import { startCommand } from "../../../test/support/command.js";
import { moduleOf } from "../testing/module.js";
import { clientOn, contentsOf, setOf } from "../testing/records.js";
import { addresses, engines, newNamespace, openStore } from "../testing/stores.js";
import { type Ran, run as runHere } from "../testing/terminal.js";

// The command in a process of its own, as people run it, on stores that other processes have filled. With a sealed
// store the commands run in this process: what starts and ends one is the same as with a plain store.

const bin = fileURLToPath(new URL("../dist/bin.js", import.meta.url));
const module = fileURLToPath(new URL("../testing/retail-pos.mjs", import.meta.url));
const [old, young] = [randomBytes(32).toString("base64"), randomBytes(32).toString("base64")];
const [oldKey, youngKey] = [
  { id: "old", secret: old },
  { id: "young", secret: young },
];
const REFUSED_AT = 1_900_000_000_000;

async function run(env: Record<string, string>, ...args: string[]) {
  const command = startCommand(bin, [...args, "--client", module], { env: { ...addresses, ...env } });
  const exitCode = await command.ended;
  return withoutSecrets({ exitCode: exitCode ?? -1, stdout: command.stdout(), stderr: command.stderr() });
}

function withoutSecrets(ran: Ran): Ran {
  for (const secret of ["canary", old, young]) expect(ran.stdout + ran.stderr).not.toContain(secret);
  return ran;
}

describe.each(engines)("%s", (engine) => {
  test.each(["plain", "sealed"])(
    "a fleet in a %s store is listed, looked at, cleared and copied",
    async (kind) => {
      const [here, there] = [newNamespace(engine), newNamespace(engine)];
      const inner = await openStore(engine, here);
      const store = kind === "sealed" ? sealedStore(inner, { keys: [oldKey] }) : inner;
      for (let each = 0; each < 600; each += 1)
        await store.save(setOf(`shop-${each}`, each % 200 === 0 ? { refusedAt: REFUSED_AT } : {}));
      const other = await openStore(engine, there);
      const target = kind === "sealed" ? other : sealedStore(other, { keys: [oldKey] });
      const env = {
        FROM: `${engine} ${here} plain`,
        TO: `${engine} ${there} sealed`,
        KEYS: `old=${old}`,
      };
      const exported = moduleOf({ store, from: store, to: target, client: clientOn(store) });
      const command = async (...args: string[]) =>
        kind === "plain" ? run(env, ...args) : withoutSecrets(await runHere([...args, "--client", exported]));

      const listed = await command("list", "--json");
      expect(listed.exitCode).toBe(0);
      expect(new Set(listed.stdout.trimEnd().split("\n")).size).toBe(600);
      const refused = await command("list", "--refused");
      expect(refused.stdout.match(/^shop-\d+\trefused/gm)).toHaveLength(3);
      expect((await command("status", "shop-200")).stdout).toMatch(/log in again: refused/);

      const copied = await command("copy");
      expect(copied).toMatchObject({
        exitCode: 0,
        stdout: expect.stringMatching(/^600 copied\n {2}0 failed\nRun it again/),
      });
      const again = await command("copy", "--json");
      expect(again.stdout.match(/"outcome":"same"/g)).toHaveLength(600);
      expect(again.stderr).toMatch(/Nothing was left to copy/);
      expect(await contentsOf(target)).toEqual(await contentsOf(store));

      expect((await command("disconnect", "--refused", "--yes")).stdout).toMatch(/^3 disconnected$/m);
      expect((await contentsOf(store)).size).toBe(597);
    },
  );

  test("reseal ends with no record under the old key, beside a process that renews with the new one", async () => {
    const namespace = newNamespace(engine);
    const inner = await openStore(engine, namespace);
    const before = sealedStore(inner, { keys: [oldKey] });
    for (let each = 0; each < 600; each += 1) await before.save(setOf(`shop-${each}`));
    const store = sealedStore(inner, { keys: [youngKey, oldKey] });
    const env = { FROM: `${engine} ${namespace} sealed`, KEYS: `young=${young} old=${old}` };

    const resealing = run(env, "reseal");
    for (let each = 0; each < 600; each += 7) {
      const held = (await store.load(setOf(`shop-${each}`).domainPrefix)) as ReturnType<typeof setOf>;
      // A save that was beaten by the other process is tried again, as core does.
      const renewed = { ...held, version: `renewed-${each}`, refreshToken: `rotated-canary-${each}` };
      while (!(await store.save(renewed, held)));
    }
    expect(await resealing).toMatchObject({
      exitCode: 0,
      stdout: expect.stringMatching(/under the key "young"/),
    });
    const after = await contentsOf(sealedStore(inner, { keys: [youngKey] })); // the old key is gone
    expect(after.size).toBe(600);
    for (let each = 0; each < 600; each += 7)
      expect(after.get(`shop-${each}`)?.refreshToken).toBe(`rotated-canary-${each}`);
  });

  test("renew-due in three processes at once renews each retailer once", async () => {
    const sandbox = await startSandbox({ stores: 20, lifetimeMs: 60_000, rotation: "always" });
    onTestFinished(() => sandbox.close());
    const namespace = newNamespace(engine);
    const store = await openStore(engine, namespace);
    const { clientId, clientSecret } = sandbox.application;
    const client = retailPos({ ...sandbox.application, authUrl: sandbox.authUrl, baseUrl: sandbox.baseUrl });
    const ended = { expiresAt: Date.now() - 1 };
    for (const { domainPrefix } of sandbox.stores) {
      const code = sandbox.approve(domainPrefix).searchParams.get("code") ?? "";
      const set = await client.exchange(domainPrefix, code);
      await store.save({
        ...set,
        access: { value: set.access.value, ...ended },
        issuedAt: ended.expiresAt - 60_000,
      });
    }
    const settings = JSON.stringify({ baseUrl: sandbox.baseUrl, clientId, clientSecret });
    const env = { FROM: `${engine} ${namespace} plain`, OPTIONS: settings };
    const runs = await Promise.all([0, 1, 2].map(() => run(env, "renew-due", "--json")));
    expect(runs.map(({ exitCode }) => exitCode)).toEqual([0, 0, 0]);
    const renewed = runs.map(({ stdout }) => JSON.parse(stdout).renewed as number);
    expect(renewed.reduce((sum, each) => sum + each)).toBe(20);
    for (const { domainPrefix } of sandbox.stores) {
      const refreshes = sandbox
        .tokenRequests(domainPrefix)
        .filter(({ grantType }) => grantType === "refresh_token");
      expect(refreshes).toHaveLength(1);
    }
  });
});
