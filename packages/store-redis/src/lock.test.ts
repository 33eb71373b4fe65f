import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { lockContract } from "@retail-pos/store-contracts";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { type Connection, canRun, connectIoRedis, kinds, prefix, sweep, url } from "../testing/redis.js";
import { asker } from "./driver.js";
import { redisTokens } from "./index.js";
import { createLock } from "./lock.js";
import { createKeys } from "./schema.js";

afterAll(async () => {
  if (canRun) expect(await sweep()).toEqual([]);
});

describe.skipIf(!canRun).each(kinds)("a lock on %s", (kind, connect) => {
  let here: Connection;
  let there: Connection;
  beforeAll(async () => {
    [here, there] = [await connect(), await connect()];
  });
  afterAll(() => {
    here.close();
    there.close();
  });

  const turns = { next: 0 };
  const either = () => (turns.next++ % 2 === 0 ? here : there);
  lockContract(test, () => redisTokens({ ...either(), prefix }).lock, { shared: true });
  // Work that outlasts the lease, with a lease short enough to be outlasted here.
  lockContract(
    (name, run) =>
      name.includes("another process") && ["ioredis", "node-redis"].includes(kind)
        ? test(`short lease, ${name}`, run)
        : undefined,
    () => createLock(asker(either().client), createKeys(prefix), 500),
    { shared: true, slowWorkMs: 1100 },
  );
});

describe.skipIf(!canRun)("a lease", () => {
  const leaseMs = 300;
  let connection: Awaited<ReturnType<typeof connectIoRedis>>;
  let children: ChildProcess[] = [];
  beforeAll(async () => {
    connection = await connectIoRedis();
  });
  afterEach(() => {
    for (const child of children) child.kill("SIGKILL");
    children = [];
  });
  afterAll(() => connection.close());
  const lock = () => createLock(asker(connection.client), createKeys(prefix), leaseMs);

  test("of a killed process ends by itself", async () => {
    const owner = await holder("killed", 60_000);
    owner.child.kill("SIGKILL");
    expect(await lock()("killed", async () => "mine now")).toBe("mine now");
  });

  test("lost in a paused process: its work ends well, and the next owner's lock is left alone", async () => {
    const owner = await holder("paused", 200);
    owner.child.kill("SIGSTOP");
    await lock()("paused", async () => {
      owner.child.kill("SIGCONT");
      await owner.ended; // it has worked to its end and released what it could
      expect(owner.said).toEqual(["held", "done"]);
      expect(await connection.client.exists(`${prefix}{paused}:lock:paused`)).toBe(1);
    });
  });

  test("that was lost is neither extended nor released", async () => {
    const key = `${prefix}{lost}:lock:lost`;
    const result = await lock()("lost", async () => {
      await connection.client.set(key, "somebody else");
      await sleep(leaseMs); // time for an extension
      return "worked";
    });
    expect(result).toBe("worked");
    expect(await connection.client.ttl(key)).toBe(-1); // as it was set
    expect(await connection.client.getdel(key)).toBe("somebody else");
  });

  test("lasts through a cut connection", async () => {
    const own = await connectIoRedis();
    const events: string[] = [];
    let waiter: Promise<unknown> | undefined;
    await createLock(
      asker(own.client),
      createKeys(prefix),
      leaseMs,
    )("cut", async () => {
      waiter = lock()("cut", async () => events.push("waiter"));
      await connection.client.client("KILL", "ID", String(await own.client.client("ID")));
      await sleep(leaseMs * 2.5);
      events.push("worked");
    });
    await waiter;
    expect(events).toEqual(["worked", "waiter"]);
    own.close();
  });

  test("is taken by the same owner twice when its answer was lost and the question repeated", async () => {
    const ask = asker(connection.client);
    const twice = createLock(
      async (...asked) => {
        await ask(...asked);
        return ask(...asked);
      },
      createKeys(prefix),
      60_000,
    );
    expect(await twice("twice", async () => "taken")).toBe("taken");
  });

  /** A process of its own that holds the lock; resolves once it does. */
  async function holder(key: string, workMs: number) {
    const program = fileURLToPath(new URL("../testing/holder.mjs", import.meta.url));
    const child = spawn(process.execPath, [program, url, prefix, key, String(leaseMs), String(workMs)], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    children.push(child);
    const said: string[] = [];
    const lines = createInterface(child.stdout);
    lines.on("line", (line) => said.push(line));
    const ended = once(child, "close");
    await Promise.race([once(lines, "line"), ended]);
    expect(said).toEqual(["held"]);
    return { child, said, ended };
  }
});
