import { spawnSync } from "node:child_process";
import { lockContract } from "@retail-pos/store-contracts";
import { afterEach, describe, expect, test, vi } from "vitest";
import { type Lease, type LeaseLockOptions, leaseLock } from "./lease-lock.js";

afterEach(() => void vi.useRealTimers());

describe("on one lease table", () => {
  const table = leaseTable();
  lockContract(test, () => leaseLock(table), { shared: true });
  describe("with a lease that work outlasts", () => {
    lockContract(test, () => leaseLock({ ...table, leaseMs: 500 }), { shared: true, slowWorkMs: 1100 });
  });
  test("nothing stays when everybody is done", () => {
    expect(table.owners()).toEqual([]);
  });
});

describe("a lease", () => {
  test("is for 15 s, or for as long as was said, under the lock's key; its owner has another name each time", async () => {
    const asked: Lease[] = [];
    const table = leaseTable();
    const take = (lease: Lease) => {
      asked.push(lease);
      return table.take(lease);
    };
    for (const leaseMs of [undefined, undefined, 700]) {
      await leaseLock({ ...table, take, ...(leaseMs && { leaseMs }) })("id/shop", async () => {});
    }
    expect(asked.map(({ key, leaseMs }) => [key, leaseMs])).toEqual([
      ["id/shop", 15_000],
      ["id/shop", 15_000],
      ["id/shop", 700],
    ]);
    expect(new Set(asked.map(({ owner }) => owner)).size).toBe(3);
  });

  test("is extended again after extensions that rejected or threw", async () => {
    const answers = [
      () => Promise.reject(new Error("cut")),
      () => {
        throw new Error("thrown at once");
      },
    ];
    await new Promise<void>((extended) => {
      const extend = async () => {
        extended();
        return false;
      };
      const lock = leaseLock({
        ...leaseTable(),
        leaseMs: 15,
        extend: () => (answers.shift() ?? extend)(),
      });
      void lock("shop", () => new Promise(() => {}));
    });
    expect(answers).toEqual([]);
  });

  test("whose question is never answered is an error after five seconds, and is let go if it was taken after all", async () => {
    vi.useFakeTimers();
    const table = leaseTable();
    let answer = () => {};
    const answered = new Promise<void>((resolve) => {
      answer = resolve;
    });
    const queued = (ask: (lease: Lease) => Promise<unknown>) => (lease: Lease) =>
      answered.then(() => ask(lease));
    const take = queued(table.take) as LeaseLockOptions["take"];
    const lock = leaseLock({ ...table, take, release: queued(table.release) });
    const asked = lock("shop", async () => "worked").catch((error) => error);
    await vi.advanceTimersByTimeAsync(5000);
    expect(await asked).toMatchObject({ message: "The lock did not answer within 5000 ms" });
    answer();
    await vi.runAllTimersAsync();
    expect(table.owners()).toEqual([]);
  });

  test("that is lost is not extended again; the work goes on to its end", async () => {
    let asked = 0;
    const lock = leaseLock({
      ...leaseTable(),
      leaseMs: 15,
      extend: async () => {
        asked += 1;
        return false;
      },
    });
    expect(await lock("shop", () => extensions(4).then(() => "worked"))).toBe("worked");
    expect(asked).toBe(1);
  });

  test("is not extended once its work has ended", async () => {
    let isOver = false;
    const late: boolean[] = [];
    const lock = leaseLock({
      ...leaseTable(),
      leaseMs: 15,
      extend: async () => {
        late.push(isOver);
        return true;
      },
    });
    await lock("shop", () => extensions(2));
    isOver = true;
    await extensions(2);
    expect(late).not.toContain(true);
  });

  test("whose answer was lost when it was taken is released; the caller has the error, and nothing is done", async () => {
    const table = leaseTable();
    const answerLost = async (lease: Lease) => {
      await table.take(lease);
      throw new Error("the answer was lost");
    };
    const work = () => expect.unreachable("no lock, no work");
    const lost = leaseLock({ ...table, take: answerLost, leaseMs: 60_000 });
    await expect(lost("shop", work)).rejects.toThrow("the answer was lost");
    expect(await leaseLock(table)("shop", async () => "free")).toBe("free");
  });

  test("that cannot be taken is nobody else's failure: the next in this process gets it", async () => {
    const table = leaseTable();
    const answers = [Promise.reject(new Error("away"))];
    const lock = leaseLock({ ...table, take: (lease) => answers.shift() ?? table.take(lease) });
    const outcomes = await Promise.allSettled([
      lock("shop", async () => "first"),
      lock("shop", async () => "second"),
    ]);
    expect(outcomes).toEqual([
      { status: "rejected", reason: new Error("away") },
      { status: "fulfilled", value: "second" },
    ]);
  });
});

describe("a release", () => {
  const failing: Record<string, () => Promise<unknown>> = {
    rejects: () => Promise.reject(new Error("cut")),
    throws: () => {
      throw new Error("thrown at once");
    },
    "never answers": () => new Promise(() => {}),
  };
  test.each(Object.entries(failing))(
    "that %s costs the work neither its result nor its error",
    async (_what, release) => {
      const lock = leaseLock({ ...leaseTable(), release });
      expect(await lock("shop", async () => "result")).toBe("result");
      const error = new Error("of the work");
      await expect(lock("another", () => Promise.reject(error))).rejects.toBe(error);
    },
  );

  test("that fails is tried once more", async () => {
    const table = leaseTable();
    const answers = [() => Promise.reject(new Error("cut"))];
    const lock = leaseLock({ ...table, release: (lease) => (answers.shift() ?? table.release)(lease) });
    await lock("shop", async () => {});
    expect(table.owners()).toEqual([]);
  });
});

describe("those who wait", () => {
  /** How long the lock was held, and how much later it may be had, milliseconds. */
  const waits = [
    [40, 12],
    [100, 13],
    [300, 38],
    [2_000, 250],
    [60_000, 250],
  ] as const;
  test.each(waits)(
    "for a lock that is free after %i ms have it at most %i ms later",
    async (heldMs, lateMs) => {
      vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
      let isFree = false;
      let had = 0;
      const waiters = Array.from({ length: 50 }, () =>
        leaseLock({ ...leaseTable(), take: async () => isFree })("shop", async () => {
          had += 1;
        }),
      );
      await vi.advanceTimersByTimeAsync(heldMs);
      expect(had).toBe(0);
      isFree = true;
      await vi.advanceTimersByTimeAsync(lateMs + 1);
      expect(had).toBe(50);
      await Promise.all(waiters);
    },
  );

  /** After this time of waiting so many questions have been asked, at most. */
  const questions = [
    [300, 45],
    [2_500, 90],
    [62_500, 600],
  ] as const;
  test.each(questions)("for %i ms have asked at most %i times", async (waitedMs, atMost) => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
    let asked = 0;
    const take = async () => {
      asked += 1;
      return false;
    };
    void leaseLock({ ...leaseTable(), take })("shop", async () => {});
    await vi.advanceTimersByTimeAsync(waitedMs);
    expect(asked).toBeGreaterThan(1);
    expect(asked).toBeLessThanOrEqual(atMost);
  });

  test("in one process ask for a key one at a time, and no other key waits for them", async () => {
    const table = leaseTable();
    const asking = new Map<string, number>();
    const take = async (lease: Lease) => {
      asking.set(lease.key, (asking.get(lease.key) ?? 0) + 1);
      return table.take(lease);
    };
    const lock = leaseLock({ ...table, take });
    let letGo = () => {};
    const held = new Promise<void>((resolve) => {
      letGo = resolve;
    });
    const all = Array.from({ length: 250 }, () => lock("shop", () => held));
    await lock("another", async () => {});
    expect(Object.fromEntries(asking)).toEqual({ shop: 1, another: 1 });
    letGo();
    await Promise.all(all);
    expect(asking.get("shop")).toBe(250);
  });
});

describe("who waits, and would take something instead,", () => {
  const work = () => expect.unreachable("there was something else");

  test("has it at the next look, while another owner still has the lock; nothing is taken for it", async () => {
    const table = leaseTable();
    let letGo = () => {};
    const held = leaseLock(table)("shop", () => new Promise<void>((resolve) => (letGo = resolve)));
    const answers = [undefined, undefined, undefined, "stored"];
    expect(await leaseLock(table)("shop", work, async () => answers.shift())).toBe("stored");
    expect(answers).toEqual([]);
    expect(table.owners()).toHaveLength(1);
    letGo();
    await held;
    expect(table.owners()).toEqual([]);
  });

  test("is not asked where the lock is free", async () => {
    const instead = async () => expect.unreachable("nobody had to wait");
    expect(await leaseLock(leaseTable())("shop", async () => "worked", instead)).toBe("worked");
  });

  test("does the work where there is nothing, as soon as the lock is free", async () => {
    const table = leaseTable();
    const answers = [false, false, true];
    let looks = 0;
    const lock = leaseLock({ ...table, take: async () => answers.shift() ?? true });
    const nothing = async () => {
      looks += 1;
      return undefined;
    };
    expect(await lock("shop", async () => "worked", nothing)).toBe("worked");
    expect(looks).toBe(4);
  });

  test("has the error, if looking fails; the next in this process waits as before", async () => {
    const answers = [false, true];
    const lock = leaseLock({ ...leaseTable(), take: async () => answers.shift() ?? true });
    const away = new Error("away");
    await expect(lock("shop", work, () => Promise.reject(away))).rejects.toBe(away);
    expect(await lock("shop", async () => "worked")).toBe("worked");
  });

  test("looks twice between two tries", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
    const seen: string[] = [];
    const take = async () => {
      seen.push("take");
      return false;
    };
    const instead = async () => void seen.push("look");
    void leaseLock({ ...leaseTable(), take })<void>("shop", work, instead);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(seen.length).toBeGreaterThan(20);
    expect(seen).toEqual(seen.map((_, index) => (index % 3 === 0 ? "take" : "look")));
  });
});

test("work that never ends keeps no process alive", () => {
  const core = new URL("../../dist/index.js", import.meta.url).href;
  const program = `
    import { leaseLock } from ${JSON.stringify(core)};
    const yes = async () => true;
    const lock = leaseLock({ take: yes, extend: yes, release: yes, leaseMs: 60_000 });
    lock("shop", () => { console.log("working"); return new Promise(() => {}); });
  `;
  const { status, stdout } = spawnSync(process.execPath, ["--input-type=module", "--eval", program], {
    encoding: "utf8",
    timeout: 50_000,
  });
  expect({ status, stdout }).toEqual({ status: 0, stdout: "working\n" });
});

describe("a mistake in the options is a TypeError that names the option", () => {
  const table = leaseTable();
  const mistakes: [string, unknown, string][] = [
    ["no options", undefined, "options"],
    ["no take", { ...table, take: undefined }, "take"],
    ["an extend that is no function", { ...table, extend: true }, "extend"],
    ["no release", { take: table.take, extend: table.extend }, "release"],
    ...[0, -1, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 31, "15000", null].map(
      (leaseMs): [string, unknown, string] => [`a leaseMs of ${leaseMs}`, { ...table, leaseMs }, "leaseMs"],
    ),
  ];
  test.each(mistakes)("%s", (_what, options, name) => {
    const make = () => leaseLock(options as LeaseLockOptions);
    expect(make).toThrow(TypeError);
    expect(make).toThrow(new RegExp(`^${name} must be`));
  });
});

/** What a database would do, in a few lines. */
function leaseTable() {
  const rows = new Map<string, { owner: string; endsAt: number }>();
  const isOwner = ({ key, owner }: Lease) => rows.get(key)?.owner === owner;
  const put = ({ key, owner, leaseMs }: Lease) => rows.set(key, { owner, endsAt: Date.now() + leaseMs });
  return {
    async take(lease: Lease): Promise<boolean> {
      const row = rows.get(lease.key);
      if (row && !isOwner(lease) && row.endsAt > Date.now()) return false;
      put(lease);
      return true;
    },
    async extend(lease: Lease): Promise<boolean> {
      if (!isOwner(lease)) return false;
      put(lease);
      return true;
    },
    async release(lease: Lease): Promise<void> {
      if (isOwner(lease)) rows.delete(lease.key);
    },
    owners: () => [...rows.values()],
  };
}

/** Resolves after so many extensions of some other lease: others of the same length had their chance too. */
async function extensions(count: number): Promise<void> {
  let seen = 0;
  await new Promise<void>((resolve) => {
    const extend = async () => {
      seen += 1;
      if (seen === count) resolve();
      return seen < count;
    };
    void leaseLock({ ...leaseTable(), leaseMs: 15, extend })("other", () => new Promise(() => {}));
  });
}
