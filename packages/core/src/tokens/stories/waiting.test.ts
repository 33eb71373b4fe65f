import { afterEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { DAY_MS, failureOf, later, settled, start } from "../../../testing/fake-service.js";
import { memoryStore } from "../../store/memory-store.js";
import type { Lock } from "../../vocabulary/lock.js";

// Two processes share a store. The second one waits for a lock, and may look at the store meanwhile.

afterEach(() => void vi.useRealTimers());

describe("who waits for the lock", () => {
  test("is served what its owner has stored, without the lock, and all callers with one look", async () => {
    const { first, second, lock, loads } = await twoProcesses();
    const all = Promise.all([second.value(), second.value(), second.value()]);
    await settled();
    const renewed = await first.value();
    const loadsBefore = loads();
    await lock.look();
    expect(await all).toEqual([renewed, renewed, renewed]);
    expect(loads()).toBe(loadsBefore + 1);
    expect(first.service.spent()).toEqual(["refresh-shop-1"]);
    expect(lock.worked()).toBe(0);
    expect(second.types()).toEqual([]);
  });

  test("waits on while nothing else is stored", async () => {
    const { second, lock } = await twoProcesses();
    const value = second.value();
    await settled();
    for (let looks = 0; looks < 3; looks += 1) await lock.look();
    lock.letIn();
    expect(await value).toBe("access-shop-2");
    expect(lock.worked()).toBe(1);
  });

  test("waits on if what is stored has ended, too", async () => {
    const { first, second, lock, time } = await twoProcesses();
    const value = second.value();
    await settled();
    await first.value();
    time.now += DAY_MS;
    await lock.look();
    lock.letIn();
    expect(await value).toBe("access-shop-3");
  });

  test("fails as the others did once they have tried in vain for timeoutMs and half a minute", async () => {
    const { second, lock } = await twoProcesses();
    const now = vi.spyOn(performance, "now");
    onTestFinished(() => now.mockRestore());
    now.mockReturnValue(1000);
    const failure = failureOf(second.value());
    await settled();
    now.mockReturnValue(500_000); // the process stood still
    for (let looks = 0; looks < 39; looks += 1) {
      now.mockReturnValue(500_000 + looks * 1000);
      await lock.look();
    }
    expect(second.types()).toEqual([]);
    now.mockReturnValue(539_000);
    await lock.look();
    expect(await failure).toMatchObject({
      code: "token_endpoint_failed",
      message: 'The tokens of retailer "shop" are not renewed: other processes have tried for 40 s',
      domainPrefix: "shop",
    });
    expect(second.types()).toEqual(["renewal_failed"]);
    lock.letIn();
  });

  test("waits on if the store cannot be read, and asks it again under the lock only", async () => {
    const { second, lock, store, loads } = await twoProcesses();
    const { load } = store;
    const value = second.value();
    await settled();
    store.load = () => Promise.reject(new Error("away"));
    await lock.look();
    store.load = load;
    const loadsBefore = loads();
    await lock.look();
    expect(loads()).toBe(loadsBefore);
    lock.letIn();
    expect(await value).toBe("access-shop-2");
  });

  test("tells of a store that cannot be read once, also while its token still lives", async () => {
    const { second, lock, store, time } = await twoProcesses();
    time.now -= 1000; // due, and not over
    await second.value();
    store.load = () => Promise.reject(new Error("away"));
    await settled();
    for (let looks = 0; looks < 5; looks += 1) await lock.look();
    expect(second.types()).toEqual(["store_failed"]);
  });

  test("saves nothing meanwhile, though a set of its own is not saved yet", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const { first, second, lock, store, time } = await twoProcesses();
    const { save } = store;
    let saves = 0;
    store.save = async () => {
      saves += 1;
      throw new Error("disk full");
    };
    lock.letIn();
    const kept = second.value();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(await kept).toBe("access-shop-2");
    lock.shutOut();
    time.now += DAY_MS;
    const value = second.value();
    await settled();
    const savesBefore = saves;
    for (let looks = 0; looks < 5; looks += 1) await lock.look();
    expect(saves).toBe(savesBefore);
    store.save = save;
    lock.letIn();
    expect(await value).toBe("access-shop-3");
    expect(first.service.spent()).toEqual(["refresh-shop-1", "refresh-shop-2"]);
  });
});

/** Logged in, and the token has ended. */
async function twoProcesses() {
  const store = memoryStore();
  const { load } = store;
  let loaded = 0;
  store.load = (...asked) => {
    loaded += 1;
    return load(...asked);
  };
  const lock = busyLock();
  const first = start({ store });
  const { service, time } = first;
  const second = start({ store, lock: lock.lock }, service, time);
  await first.login();
  time.now += DAY_MS;
  return { first, second, lock, store, time, loads: () => loaded };
}

/** Somebody else's, until {@link letIn}. */
function busyLock() {
  let free = later();
  let ask: () => Promise<unknown> = async () => expect.unreachable("nobody waits");
  let works = 0;
  const lock: Lock = (_key, work, instead) =>
    new Promise((resolve, reject) => {
      ask = async () => {
        const found = await instead?.().catch(reject);
        if (found !== undefined) resolve(found);
      };
      void free.promise.then(() => {
        works += 1;
        work().then(resolve, reject);
      });
    });
  return {
    lock,
    /** Asks the one who waits what it would take instead. */
    look: () => ask(),
    letIn: () => free.resolve(),
    /** From the next one on. */
    shutOut: () => {
      free = later();
    },
    worked: () => works,
  };
}
