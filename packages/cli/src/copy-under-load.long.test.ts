import { fileURLToPath } from "node:url";
import { parseDomainPrefix, retailPos } from "@retail-pos/core";
import { expect, onTestFinished, test } from "vitest";
import { startCommand } from "../../../test/support/command.js";
import { startApplication } from "../../../test/support/processes.js";
import { canRun as hasRedis } from "../../store-redis/testing/redis.js";
import { contentsOf } from "../testing/records.js";
import { addresses, newNamespace, openStore } from "../testing/stores.js";

const bin = fileURLToPath(new URL("../dist/bin.js", import.meta.url));
const module = fileURLToPath(new URL("../testing/retail-pos.mjs", import.meta.url));
const retailers = [
  "harbour-coffee",
  "second-chapter",
  "rosas-bikes",
  "plant-room",
  "little-sparks",
  "north-wool",
];
const lifetimeMs = 3_600_000;

test.skipIf(!hasRedis)(
  "a copy from SQLite to Redis while three processes renew, and one after they stopped, loses no login and no rotation",
  async () => {
    const application = await startApplication({ engine: "sqlite", retailers, lifetimeMs, onTestFinished });
    const { sandbox, namespace, letPass, callAll, logIn, processes, answers } = application;
    const there = newNamespace("redis");
    const env = { ...addresses, FROM: `sqlite ${namespace}`, TO: `redis ${there}` };
    const copy = async () => {
      const command = startCommand(bin, ["copy", "--client", module], { env });
      expect(await command.ended, command.output()).toBe(0);
      return command.stdout();
    };

    let isCopying = true;
    const copying = (async () => {
      for (let runs = 0; runs < 3; runs += 1) expect(await copy()).toMatch(/^\d copied/);
    })().finally(() => {
      isCopying = false;
    });
    let rounds = 0;
    for (; isCopying; rounds += 1) {
      await letPass(lifetimeMs);
      await Promise.all(retailers.map((retailer) => callAll(retailer, 5)));
      await logIn(retailers[rounds % retailers.length] as string);
    }
    await copying;
    expect(rounds).toBeGreaterThan(3);

    const from = await openStore("sqlite", namespace);
    await Promise.all(processes().map((process) => process.kill()));
    expect(await copy()).toMatch(/Run it again|Nothing was left/);
    expect(await copy()).toMatch(/^0 copied\n6 the same in both\n0 failed\nNothing was left to copy/);
    const to = await openStore("redis", there);
    expect(await contentsOf(to)).toEqual(await contentsOf(from));

    // Every set is the last that the service gave: it takes the access token, and trades the refresh token.
    const settings = { ...sandbox.application, authUrl: sandbox.authUrl, baseUrl: sandbox.baseUrl };
    const moved = retailPos({ ...settings, store: to, clock: () => sandbox.now(), cacheMs: 0 });
    for (const retailer of retailers) {
      const value = (await to.load(parseDomainPrefix(retailer)))?.access.value ?? "";
      expect(sandbox.accepts(retailer, value)).toBe(true);
      expect((await moved.tokens(retailer).token({ rejected: value })).value).not.toBe(value);
      expect(answers(retailer).filter((status) => status !== 200)).toEqual([]);
    }
  },
  300_000,
);
