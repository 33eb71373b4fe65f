import { readFileSync } from "node:fs";
import { sealedStore } from "@retail-pos/sealed-store";
import { describe, expect, test } from "vitest";
import { codeSpansOf } from "./support/docs/documents.js";
import {
  canRun,
  dashboardFile,
  expectFired,
  expectQueries,
  promtool,
  rulesFile,
  type Samples,
} from "./support/monitoring/prometheus.js";
import { type Situation, samplesOf } from "./support/monitoring/situation.js";

// What goes wrong in production is played with core and the sandbox, an hour in a second; Prometheus itself evaluates
// the published rules over the metrics that came of it. Each situation fires the rules that it is for, and no others.

const HOUR = 3600;
const MINUTE = 60;
const away = () => Promise.reject(new Error("away"));

interface Dashboard {
  readonly panels: readonly { readonly targets?: readonly { readonly expr: string }[] }[];
}

interface Case {
  readonly situation: string;
  readonly fires: readonly string[];
  /** Those of them that still fire at the end, if that is what the situation is about. */
  readonly atEnd?: readonly string[];
  /** How many callers got an error, at least and at most, if it is known. */
  readonly callers?: readonly [least: number, most: number];
  readonly play: (situation: Situation) => Promise<void>;
  readonly more?: Parameters<typeof samplesOf>[1];
}

const cases: Case[] = [
  {
    situation: "a fleet that is well, with what goes wrong on every day",
    fires: [],
    more: { lifetimeMs: HOUR * 1000 },
    async play({ stores, logIn, call, forge, pass, pos, sandbox }) {
      const busy = stores.slice(0, 20);
      const quiet = stores.slice(20, 38);
      await logIn(...busy, ...quiet);
      const job = async () => void (await pos.renewDue({ withinMs: 30 * MINUTE * 1000 }));
      for (let hour = 0; hour < 3; hour += 1) {
        await forge(busy[0] as string); // somebody went back in the browser
        await call("nobody-here"); // somebody disconnected, and a job still asks
        sandbox.fault(500); // one request, of one retailer
        sandbox.limit(busy[1 + hour] as string, 30_000);
        sandbox.refuse(busy[4 + hour] as string); // somebody revoked the application
        for (let half = 0; half < 2; half += 1) {
          await pass(HOUR / 2, () => call(...busy));
          await job();
        }
      }
    },
  },
  {
    situation: "the token endpoint is down for ten minutes, one retailer, five calls a second",
    fires: ["RetailPosCallersFailing", "RetailPosTokenEndpointFailing"],
    callers: [3000, 3300], // afterwards up to a minute passes until it is tried again
    more: { lifetimeMs: HOUR * 1000 },
    async play({ stores: [store = ""], logIn, call, pass, sandbox }) {
      await logIn(store);
      await pass(HOUR, () => {});
      const down = sandbox.fault(503, { times: Number.POSITIVE_INFINITY });
      const fiveTimes = () => call(...Array<string>(5).fill(store));
      await pass(10 * MINUTE, fiveTimes, 1);
      down.release();
      await pass(10 * MINUTE, fiveTimes, 1);
    },
  },
  {
    situation: "the client secret is wrong",
    fires: ["RetailPosCallersFailing", "RetailPosClientRefused"],
    more: { lifetimeMs: HOUR * 1000 },
    async play({ stores: [store = ""], logIn, call, pass, redeploy }) {
      await logIn(store);
      await pass(20 * MINUTE, () => call(store));
      redeploy({ clientSecret: "not the secret" });
      await pass(40 * MINUTE);
      await pass(10 * MINUTE, () => call(store, store, store));
    },
  },
  {
    situation: "the store cannot be read, and every token lives",
    fires: ["RetailPosStoreFailing"],
    async play({ stores, logIn, call, pass, store }) {
      await logIn(...stores.slice(0, 3));
      await pass(20 * MINUTE, () => call(...stores.slice(0, 3)));
      store.load = away;
      await pass(20 * MINUTE, () => call(...stores.slice(0, 3)));
    },
  },
  {
    situation: "the store cannot be read, and tokens end",
    fires: ["RetailPosCallersFailing", "RetailPosStoreFailing"],
    more: { lifetimeMs: HOUR * 1000 },
    async play({ stores, logIn, call, pass, store }) {
      await logIn(...stores.slice(0, 3));
      await pass(HOUR - 10 * MINUTE, () => call(...stores.slice(0, 3)));
      store.load = away;
      await pass(30 * MINUTE, () => call(...stores.slice(0, 3)));
    },
  },
  {
    situation: "the store cannot be written once",
    fires: ["RetailPosUnsaved"],
    more: { lifetimeMs: HOUR * 1000 },
    async play({ stores: [one = "", two = ""], logIn, call, pass, store }) {
      await logIn(one, two);
      await pass(HOUR - MINUTE, () => call(two));
      const { save } = store;
      store.save = away;
      await pass(MINUTE);
      await call(one);
      store.save = save;
      await pass(20 * MINUTE, () => call(one, two));
    },
  },
  {
    situation: "a record that no key opens",
    fires: ["RetailPosRecordsUnusable"],
    async play({ stores, logIn, call, pass, store, redeploy }) {
      const sealedWith = (id: string) =>
        sealedStore(store, { keys: [{ id, secret: new Uint8Array(32).fill(id.length) }] });
      redeploy({ store: sealedWith("old") });
      await logIn(...stores.slice(0, 3));
      await pass(10 * MINUTE, () => call(...stores.slice(0, 3)));
      redeploy({ store: sealedWith("newer") });
      await pass(20 * MINUTE, () => call(stores[0] as string), 10 * MINUTE);
    },
  },
  {
    situation: "forged callbacks",
    fires: ["RetailPosLoginsFailing"],
    async play({ stores: [store = ""], logIn, call, forge, pass }) {
      await logIn(store);
      await pass(10 * MINUTE, () => call(store));
      await pass(20 * MINUTE, () => forge(store));
    },
  },
  {
    situation: "logins with a wrong client secret",
    fires: ["RetailPosClientRefused", "RetailPosLoginsFailing"],
    async play({ stores, logIn, pass, redeploy }) {
      await pass(5 * MINUTE);
      redeploy({ clientSecret: "not the secret" });
      await pass(20 * MINUTE, () => logIn(stores[0] as string).catch(() => {}), 2 * MINUTE);
    },
  },
  {
    situation: "429 after 429, while the token lives",
    fires: ["RetailPosRateLimited"],
    more: { lifetimeMs: 150 * MINUTE * 1000, options: { renewEarlyMs: 15 * MINUTE * 1000 } },
    async play({ stores: [store = ""], logIn, call, pass, sandbox }) {
      await logIn(store);
      await pass(135 * MINUTE);
      await pass(14 * MINUTE, () => {
        sandbox.limit(store, 60_000);
        return call(store);
      });
    },
  },
  {
    situation: "many retailers have to log in again",
    fires: ["RetailPosManyReconnects"],
    more: { lifetimeMs: HOUR * 1000 },
    async play({ stores, logIn, call, pass, sandbox }) {
      await logIn(...stores);
      await pass(HOUR - 10 * MINUTE, () => call(...stores));
      for (const store of stores.slice(0, 8)) sandbox.refuse(store);
      await pass(20 * MINUTE, () => call(...stores));
    },
  },
  {
    situation: "many retailers have to log in again, do not, and callers go on asking for hours",
    fires: ["RetailPosManyReconnects"],
    atEnd: [],
    more: { lifetimeMs: HOUR * 1000 },
    async play({ stores, logIn, call, pass, sandbox }) {
      await logIn(...stores);
      const refused = stores.slice(0, 5);
      await pass(HOUR - 10 * MINUTE, () => call(...stores), 10 * MINUTE);
      for (const store of refused) sandbox.refuse(store);
      await pass(5 * HOUR, () => call(...stores), 10 * MINUTE);
      for (const store of refused) // the login, an early try, the verdict, and a try an hour
        expect(sandbox.tokenRequests(store).length).toBeGreaterThanOrEqual(6);
    },
  },
  {
    situation: "the service refuses one quiet retailer's renewals for ever, with words that are no verdict",
    fires: ["RetailPosRenewalStuck", "RetailPosRetailersEnded"], // the latter, because one of forty is more than 1 %
    atEnd: ["RetailPosRenewalStuck", "RetailPosRetailersEnded"],
    more: { lifetimeMs: HOUR * 1000 },
    async play({ stores, logIn, call, pass, pos, sandbox }) {
      await logIn(...stores);
      const [stuck = "", ...others] = stores;
      sandbox.fault(403, { domainPrefix: stuck, times: Number.POSITIVE_INFINITY });
      for (let hour = 0; hour < 9; hour += 1) {
        await pass(HOUR, () => call(...others), 10 * MINUTE);
        await pos.renewDue();
      }
      expect(await pos.status(stuck)).not.toHaveProperty("refusedAt");
    },
  },
  {
    situation: "quiet retailers end and are not renewed",
    fires: ["RetailPosRetailersEnded"],
    more: { lifetimeMs: HOUR * 1000 },
    async play({ stores, logIn, call, pass }) {
      await logIn(...stores.slice(0, 10));
      await pass(3 * HOUR, () => call(stores[0] as string));
    },
  },
  {
    situation: "the store cannot list",
    fires: ["RetailPosFleetUncounted"],
    more: { lifetimeMs: HOUR * 1000 },
    async play({ stores, logIn, call, pass, store }) {
      await logIn(...stores);
      await pass(20 * MINUTE, () => call(...stores));
      store.list = away;
      await pass(45 * MINUTE, () => call(...stores));
    },
  },
];

describe.skipIf(!canRun)("as Prometheus evaluates them, the rules", () => {
  test("are well-formed", async () => {
    expect(await promtool("check", "rules", rulesFile)).toMatch(/SUCCESS: \d+ rules found/);
  });

  test("and the queries of the dashboard too", async () => {
    const { panels } = JSON.parse(readFileSync(dashboardFile, "utf8")) as Dashboard;
    const queries = panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));
    expect(queries.length).toBeGreaterThan(20);
    await expectQueries(
      queries.map((query) => query.replaceAll("$__rate_interval", "5m").replaceAll("$job", ".*")),
    );
    await expect(expectQueries(["sum(rate(no_window))"])).rejects.toThrow("range vector");
  });

  test("and the queries of docs/operating.md, which ask for metrics that there are", async () => {
    const queries = codeSpansOf("docs/operating.md").filter((code) => code.includes("(retail_pos_"));
    expect(queries.length).toBeGreaterThan(5);
    await expectQueries(queries);
    const { samples } = await samplesOf(async ({ pass }) => pass(2 * MINUTE));
    const names = new Set([...samples.keys()].map((series) => series.replace(/\{.*/, "")));
    const asked = queries.map(
      (query) => /\bretail_pos_[a-z_]+(?=[[{)])/.exec(query.replace(/by \(.*?\)/, ""))?.[0],
    );
    expect(asked.filter((name) => !names.has(name ?? ""))).toEqual([]);
  });

  test.each(cases.map((each) => [each.situation, each] as const))(
    "in this situation: %s",
    async (_situation, { play, fires, atEnd, callers, more }) => {
      const { samples, everySeconds } = await samplesOf(play, more);
      await expectFired(samples, everySeconds, fires, atEnd);
      const failed = lastOf(samples, "retail_pos_callers_failed_total");
      const [least, most] = callers ?? [0, Number.POSITIVE_INFINITY];
      expect(failed).toBeGreaterThanOrEqual(least);
      expect(failed).toBeLessThanOrEqual(most);
    },
    120_000,
  );
});

/** The last sample of all series of a metric, added up. */
function lastOf(samples: Samples, metric: string): number {
  const values = [...samples]
    .filter(([series]) => series.startsWith(`${metric}{`))
    .map(([, all]) => all.at(-1));
  return values.reduce<number>((sum, value) => sum + (value ?? 0), 0);
}
