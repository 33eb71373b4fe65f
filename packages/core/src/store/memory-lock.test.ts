import { describe, expect, test, vi } from "vitest";
import { endRequestOf } from "../../testing/ended-request.js";
import { memoryLock } from "./locks.js";

describe("a memory lock", () => {
  test("settles as the work does", async () => {
    const lock = memoryLock();
    expect(await lock("shop", async () => 5)).toBe(5);
    const reason = new Error("failed");
    await expect(lock("shop", () => Promise.reject(reason))).rejects.toBe(reason);
    await expect(lock("shop", async () => undefined)).resolves.toBeUndefined();
  });

  test("runs the work of one key one after another, first come, first served", async () => {
    const lock = memoryLock();
    const seen: string[] = [];
    const gates = [gate(), gate(), gate()];
    const turns = gates.map(({ opened }, index) =>
      lock("shop", async () => {
        seen.push(`begin ${index}`);
        await opened;
        seen.push(`end ${index}`);
      }),
    );
    for (const { open } of gates.toReversed()) open();
    await Promise.all(turns);
    expect(seen).toEqual(["begin 0", "end 0", "begin 1", "end 1", "begin 2", "end 2"]);
  });

  test("never runs two works of one key at once, also when work is added while others run", async () => {
    const lock = memoryLock();
    let running = 0;
    let most = 0;
    const work = async () => {
      running += 1;
      most = Math.max(most, running);
      await Promise.resolve();
      running -= 1;
    };
    const addMore = () => Promise.all(Array.from({ length: 20 }, () => lock("shop", work)));
    await Promise.all([
      addMore(),
      addMore(),
      lock("shop", work).then(addMore),
      lock("shop", work).finally(addMore),
    ]);
    await addMore();
    expect(most).toBe(1);
    expect(running).toBe(0);
  });

  test("keeps keys apart, whatever they are called", async () => {
    const lock = memoryLock();
    const { opened, open } = gate();
    const waiting = lock("shop", () => opened);
    const keys = ["other", "", "__proto__", "constructor", "SHOP", "shop "];
    expect(await Promise.all(keys.map((key) => lock(key, async () => key)))).toEqual(keys);
    open();
    await waiting;
  });

  test("is free again after work that rejects or throws at once", async () => {
    const lock = memoryLock();
    const failed = [
      lock("shop", () => Promise.reject(new Error("rejected"))),
      lock("shop", () => {
        throw new Error("thrown");
      }),
    ];
    const next = lock("shop", async () => "free");
    expect((await Promise.allSettled(failed)).map(({ status }) => status)).toEqual(["rejected", "rejected"]);
    expect(await next).toBe("free");
  });

  test("goes to the next in the queue if the runtime has ended the request that had it", async () => {
    const lock = memoryLock();
    const never = gate().opened;
    const PlatformPromise = Promise;
    vi.stubGlobal("Promise", function PromiseOfEndedRequest(executor: () => void) {
      return endRequestOf(new PlatformPromise(executor));
    });
    void lock("shop", () => never);
    vi.unstubAllGlobals();
    const next = [lock("shop", async () => "first"), lock("shop", async () => "second")];
    expect(await Promise.all(next)).toEqual(["first", "second"]);
  });

  test("of another application is another lock", async () => {
    const { opened, open } = gate();
    const waiting = memoryLock()("shop", () => opened);
    expect(await memoryLock()("shop", async () => "free")).toBe("free");
    open();
    await waiting;
  });
});

function gate(): { opened: Promise<void>; open: () => void } {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open: () => open() };
}
