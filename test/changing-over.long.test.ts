import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { SealedStoreOptions } from "@retail-pos/sealed-store";
import { describe, expect, onTestFinished, test } from "vitest";
import { clientOn } from "../packages/cli/testing/records.js";
import { addresses, engines, openStore } from "../packages/cli/testing/stores.js";
import { startCommand } from "./support/command.js";
import { type Application, startApplication, type Worker } from "./support/processes.js";

// The steps of the sealed store's README, from plain records to sealed ones and back, with two processes that are
// deployed one after the other, so that processes of neighbouring steps run side by side. Ten requests a second go on
// all the time, and each step sees every token end.

const bin = fileURLToPath(new URL("../packages/cli/dist/bin.js", import.meta.url));
const module = fileURLToPath(new URL("../packages/cli/testing/retail-pos.mjs", import.meta.url));
const secret = randomBytes(32).toString("base64");
const keys = [{ id: "2030-01", secret }];
const retailers = ["harbour-coffee", "second-chapter", "rosas-bikes", "plant-room", "little-sparks"];
const lifetimeMs = 3_600_000;

type Step = SealedStoreOptions | undefined;
const [WITHOUT, WRITE, READ, SEALED]: Step[] = [
  undefined,
  { keys, plain: "write" },
  { keys, plain: "read" },
  { keys },
];

describe.each(engines.filter((engine) => engine !== "sqlite"))("under load, %s", (engine) => {
  test("no request fails from plain to sealed records, nor on the way back", {
    timeout: 180_000,
  }, async () => {
    const site = await deployed(engine);
    await site.deploy(WRITE);
    await site.deploy(READ);
    expect(await site.command("seal", "read")).toMatch(/Everything is sealed\. Nobody has to log in\.\n$/);
    expect(await site.sealed()).toBe(retailers.length);
    await site.deploy(SEALED);

    await site.deploy(READ);
    await site.deploy(WRITE);
    expect(await site.command("unseal", "write")).toMatch(
      /Everything is plain\. sealedStore can be taken out\.\n$/,
    );
    expect(await site.sealed()).toBe(0);
    await site.deploy(WITHOUT);

    const { served, errors } = await site.end();
    expect(errors).toEqual([]);
    expect(served).toBeGreaterThan(100);
    for (const retailer of retailers) {
      const answers = site.application.answers(retailer);
      expect(answers.length).toBeGreaterThan(10);
      expect(answers.filter((answer) => answer !== 200)).toEqual([]);
    }
  });

  test("requests fail if a step is left out, and no store loses its login", async () => {
    const site = await deployed(engine);
    await site.deploy(SEALED);
    const { errors } = await site.end();
    expect(errors).toContainEqual(expect.stringContaining("it only needs sealing: retail-pos seal"));
    expect(await site.command("seal")).toMatch(/Everything is sealed\. Nobody has to log in\.\n$/);
    for (const retailer of retailers)
      expect(await site.application.processes()[0]?.call(retailer, 1)).toMatchObject({
        served: 1,
        errors: [],
      });
  });
});

interface Site {
  readonly application: Application;
  /** Replaces both processes, one after the other. */
  deploy(step: Step): Promise<void>;
  /** Runs a command of `retail-pos` on the sealed store, as it is with this option. */
  command(name: string, plain?: string): Promise<string>;
  /** How many records are sealed. */
  sealed(): Promise<number>;
  /** Stops the load. */
  end(): Promise<{ served: number; errors: string[] }>;
}

async function deployed(engine: string): Promise<Site> {
  const application = await startApplication({ engine, retailers, lifetimeMs, processes: 2, onTestFinished });
  const serving = application.processes();
  const load = startLoad(serving);
  onTestFinished(async () => void (await load.end()));
  await everyTokenEnds();

  return {
    application,
    async deploy(step) {
      for (const index of serving.keys()) {
        const old = serving[index] as Worker;
        serving[index] = await application.start(step);
        await everyTokenEnds();
        await load.settled(old);
        await old.kill();
      }
    },
    async command(name, plain = "") {
      const env = { ...addresses, FROM: `${engine} ${application.namespace} sealed ${plain}`.trimEnd() };
      const args = [name, "--client", module];
      const command = startCommand(bin, args, { env: { ...env, KEYS: `2030-01=${secret}` } });
      await everyTokenEnds();
      expect(await command.ended, command.output()).toBe(0);
      return command.stdout();
    },
    async sealed() {
      const store = await openStore(engine, application.namespace);
      let count = 0;
      for await (const { domainPrefix } of clientOn(store).retailers())
        if ((await store.load(domainPrefix))?.version.startsWith("sealed:")) count += 1;
      return count;
    },
    end: () => load.end(),
  };

  /** Each retailer is asked for by each process afterwards. */
  async function everyTokenEnds(): Promise<void> {
    await application.letPass(lifetimeMs + 1);
    await load.rounds(2);
  }
}

/** Ten requests a second, for each retailer in turn, to each process in turn. */
function startLoad(serving: readonly Worker[]) {
  const underWay = new Map<Worker, Set<Promise<unknown>>>();
  const outcome = { served: 0, errors: [] as string[] };
  let sent = 0;
  let isOver = false;
  const sending = (async () => {
    for (; !isOver; sent += 1) {
      const worker = serving[sent % serving.length] as Worker;
      const retailer = retailers[Math.floor(sent / serving.length) % retailers.length] as string;
      const calls = underWay.get(worker) ?? new Set();
      underWay.set(worker, calls);
      const call = worker.call(retailer, 1).then(
        ({ served, errors }) => {
          outcome.served += served;
          outcome.errors.push(...errors);
        },
        (error: unknown) => void outcome.errors.push(String(error)),
      );
      calls.add(call);
      void call.then(() => calls.delete(call));
      await sleep(100);
    }
  })();
  const settled = async (worker: Worker) => void (await Promise.all(underWay.get(worker) ?? []));
  return {
    settled,
    /** Waits until so many requests for each retailer were sent to each process. */
    async rounds(count: number) {
      const until = sent + count * serving.length * retailers.length;
      while (sent < until && !isOver) await sleep(20);
    },
    async end() {
      isOver = true;
      await sending;
      await Promise.all(serving.map(settled));
      return outcome;
    },
  };
}
