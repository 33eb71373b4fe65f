import { spawnSync } from "node:child_process";
import { getEventListeners } from "node:events";
import { describe, expect, test } from "vitest";
import { later } from "../../testing/fake-service.js";
import { unlessAborted } from "./abort.js";

const core = new URL("../../dist/index.js", import.meta.url).href;

describe("unlessAborted", () => {
  test("settles as the work does, with a signal and without", async () => {
    const { signal } = new AbortController();
    for (const given of [undefined, signal]) {
      expect(await unlessAborted(Promise.resolve("done"), given)).toBe("done");
      await expect(unlessAborted(Promise.reject(new Error("failed")), given)).rejects.toThrow("failed");
    }
  });

  test("a signal that was aborted before ends the wait at once, and the work's failure is nobody's", async () => {
    const reason = new Error("enough");
    const work = new Promise<never>((_, reject) => setImmediate(() => reject(new Error("failed"))));
    await expect(unlessAborted(work, AbortSignal.abort(reason))).rejects.toBe(reason);
    await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
  });

  test("many callers of one signal share one listener, which goes with the last of them", async () => {
    const { signal } = new AbortController();
    const works = Array.from({ length: 40 }, () => later<number>());
    const waits = works.map(({ promise }) => unlessAborted(promise, signal));
    expect(getEventListeners(signal, "abort")).toHaveLength(1);
    for (const [index, { resolve }] of works.slice(1).entries()) resolve(index);
    await Promise.all(waits.slice(1));
    expect(getEventListeners(signal, "abort")).toHaveLength(1);
    works[0]?.resolve(0);
    await waits[0];
    expect(getEventListeners(signal, "abort")).toHaveLength(0);

    const again = unlessAborted(new Promise(() => {}), signal);
    expect(getEventListeners(signal, "abort")).toHaveLength(1);
    again.catch(() => {});
  });

  test("an abort ends every wait and leaves no listener; what the work does later changes nothing", async () => {
    const controller = new AbortController();
    const { promise, resolve } = later<string>();
    const waits = [1, 2, 3].map(() => unlessAborted(promise, controller.signal));
    const reason = new Error("enough");
    controller.abort(reason);
    expect(await Promise.allSettled(waits)).toEqual(Array(3).fill({ status: "rejected", reason }));
    expect(getEventListeners(controller.signal, "abort")).toHaveLength(0);
    resolve("done");
    await promise;
    await expect(waits[0]).rejects.toBe(reason);
  });
});

describe("nothing that a caller handed over is held once its call has settled:", () => {
  test("20,000 callers who waited for a renewal, each with a signal of another kind", () => {
    expect(
      run(`
        const signals = [];
        const waiting = Array.from({ length: 20_000 }, (_, index) => {
          const signal = kinds[index % kinds.length]();
          signals.push(new WeakRef(signal));
          return shop.token({ signal });
        });
        await tick();
        answer();
        await Promise.all(waiting);
        waiting.length = 0;
        console.log(await left(signals));
      `),
    ).toEqual({ stdout: "0\n", stderr: "" });
  });

  test("callers who left, while the renewal and the signal of the whole process go on", () => {
    expect(
      run(`
        const reasons = [];
        const waiting = Array.from({ length: 2_000 }, () => {
          const own = new AbortController();
          const wait = shop.token({ signal: AbortSignal.any([own.signal, forEver.signal]) });
          const reason = { enough: true };
          reasons.push(new WeakRef(reason), new WeakRef(own));
          own.abort(reason);
          return wait.catch(() => {});
        });
        await Promise.all(waiting);
        waiting.length = 0;
        console.log(await left(reasons));
        answer();
      `),
    ).toEqual({ stdout: "0\n", stderr: "" });
  });
});

/** Runs a program on the built package, with a renewal under way that `answer()` ends. */
function run(program: string) {
  const head = `
    import { setImmediate as tick } from "node:timers/promises";
    import { retailPos } from ${JSON.stringify(core)};
    let now = Date.now();
    let answer;
    const answered = new Promise((resolve) => { answer = resolve; });
    const pos = retailPos({
      authUrl: "https://login.example.com",
      baseUrl: "https://{domain_prefix}.example.com",
      clientId: "id",
      clientSecret: "secret",
      redirectUri: "https://app.example.net/callback",
      clock: () => now,
      fetch: async () => {
        await answered;
        return Response.json({ access_token: "b", refresh_token: "s", expires_in: 3600 });
      },
    });
    const access = { value: "a", expiresAt: now + 3_600_000 };
    await pos.connect({ domainPrefix: "shop", access, refreshToken: "r", issuedAt: now, version: "v" });
    now += 3_600_000;
    const shop = pos.tokens("shop");
    const forEver = new AbortController();
    const kinds = [
      () => new AbortController().signal,
      () => AbortSignal.timeout(600_000),
      () => AbortSignal.any([forEver.signal, new AbortController().signal]),
      () => AbortSignal.any([forEver.signal, AbortSignal.timeout(600_000)]),
    ];
    /** How many are still there when everything was collected that can be. */
    async function left(references) {
      for (let turn = 0; turn < 20; turn += 1) {
        await tick();
        gc();
        if (references.every((reference) => reference.deref() === undefined)) break;
      }
      return references.filter((reference) => reference.deref() !== undefined).length;
    }
  `;
  const { stdout, stderr } = spawnSync(
    process.execPath,
    ["--expose-gc", "--input-type=module", "--eval", head + program],
    { encoding: "utf8", timeout: 50_000 },
  );
  return { stdout, stderr };
}
