import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { DAY_MS, later, T0 } from "../../testing/fake-service.js";
import { checkedStore } from "../store/checked-store.js";
import { memoryStore } from "../store/memory-store.js";
import { parseDomainPrefix } from "../vocabulary/domain-prefix.js";
import { StoreFailedError } from "../vocabulary/errors.js";
import { teller } from "../vocabulary/events.js";
import type { TokenSet } from "../vocabulary/token-set.js";
import { versionsOf } from "../vocabulary/token-set-versions.js";
import type { Deps } from "./deps.js";
import { RetailerCache } from "./retailer-cache.js";

// A set that the store has not taken holds the one refresh token that the service still accepts (R4): whatever else
// becomes known, it is dropped only for what the store says is newer.

const SHOP = parseDomainPrefix("shop");

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] }));
afterEach(() => void vi.useRealTimers());

/** A set whose tokens and version carry this number. */
function setOf(number: string, more: Partial<TokenSet> = {}): TokenSet {
  const access = { value: `access-${number}`, expiresAt: T0 + DAY_MS };
  return {
    domainPrefix: SHOP,
    access,
    refreshToken: `refresh-${number}`,
    issuedAt: T0,
    version: number,
    ...more,
  };
}

async function holding(stored: TokenSet) {
  const inner = memoryStore();
  await inner.save(stored);
  const state = { isDown: false };
  const save: typeof inner.save = (...args) =>
    state.isDown ? Promise.reject(new Error("disk full")) : inner.save(...args);
  const versions = versionsOf("the-application");
  const clock = () => T0;
  const cached = new RetailerCache(SHOP, {
    store: checkedStore({ ...inner, save }, versions, () => {}),
    clock,
    cacheMs: 10_000,
    tell: teller(undefined, clock),
    background: () => {},
  } as unknown as Deps);
  await cached.reload();
  const inStore = async () => (await inner.load(SHOP))?.refreshToken;
  return { cached, inner, state, inStore };
}

/** The store does not take it for as long as a save is tried. */
async function notTaken<T>(replacing: Promise<T>): Promise<T> {
  replacing.catch(() => {});
  await vi.advanceTimersByTimeAsync(4000);
  return replacing;
}

describe("what the service says of an older set, after a late answer to it that waits to be saved:", () => {
  const [older, newer] = [setOf("0"), setOf("1")];

  test.each([
    { what: "a refusal", isBack: false, more: { refusedAt: T0 } },
    { what: "a refusal", isBack: true, more: { refusedAt: T0 } },
    { what: "a 429", isBack: false, more: { limitedUntil: T0 + 1000 } },
    { what: "a 429", isBack: true, more: { limitedUntil: T0 + 1000 } },
  ])("$what; the store is back: $isBack", async ({ isBack, more }) => {
    const { cached, state, inStore } = await holding(older);
    state.isDown = true;
    await notTaken(cached.replace(older, newer));
    state.isDown = !isBack;
    const noted = cached.update(older, { ...older, version: "note", ...more });
    if (isBack) expect((await noted)?.refreshToken).toBe("refresh-1");
    else await expect(noted).rejects.toThrow(StoreFailedError);
    expect((await cached.reload())?.refreshToken).toBe("refresh-1");
    expect([cached.isUnsaved, await inStore()]).toEqual(isBack ? [false, "refresh-1"] : [true, "refresh-0"]);
    state.isDown = false;
    await cached.saveUnsaved();
    expect(await inStore()).toBe("refresh-1");
  });
});

describe("a change of the store whose answer is slow:", () => {
  test.each([false, true])(
    "what was renewed from that very login stays; the store is back: %s",
    async (isBack) => {
      const { cached, inner, state, inStore } = await holding(setOf("0"));
      const answer = later();
      const [login, renewed] = [setOf("L"), setOf("1")];
      const loggingIn = cached.logIn(login, async () => {
        await inner.save(login);
        await answer.promise;
      });
      const stored = await cached.reload();
      expect(stored?.version).toBe("L");
      state.isDown = true;
      await notTaken(cached.replace(login, renewed));
      state.isDown = !isBack;
      answer.resolve();
      await loggingIn;
      state.isDown = false;
      await cached.saveUnsaved();
      expect(await inStore()).toBe("refresh-1");
      expect((await cached.reload())?.refreshToken).toBe("refresh-1");
    },
  );

  test("what was renewed from a login that followed a disconnect stays", async () => {
    const { cached, inner, state, inStore } = await holding(setOf("0"));
    const answer = later();
    const disconnecting = cached.logIn(undefined, async () => {
      await inner.remove(SHOP);
      await answer.promise;
    });
    await inner.save(setOf("L")); // in another process
    expect((await cached.reload())?.version).toBe("L");
    state.isDown = true;
    await notTaken(cached.replace(setOf("L"), setOf("1")));
    answer.resolve();
    await disconnecting;
    state.isDown = false;
    await cached.saveUnsaved();
    expect(await inStore()).toBe("refresh-1");
  });

  test.each<[string, TokenSet | undefined]>([
    ["a login", setOf("L")],
    ["a disconnect", undefined],
  ])("%s ends what was renewed from the set before it, though the store cannot be asked", async (_, next) => {
    const { cached, inner, state, inStore } = await holding(setOf("0"));
    const answer = later();
    state.isDown = true;
    const renewing = cached.replace(setOf("0"), setOf("1"));
    const changing = cached.logIn(next, async () => {
      await (next ? inner.save(next) : inner.remove(SHOP));
      await answer.promise;
    });
    await notTaken(renewing);
    answer.resolve();
    await changing;
    expect(cached.set?.refreshToken).toBe(next?.refreshToken);
    state.isDown = false;
    await cached.saveUnsaved();
    expect(await inStore()).toBe(next?.refreshToken);
  });
});

test("a renewal that cannot be saved while logins overlap gives way to the one that the store holds", async () => {
  const { cached, inner, state } = await holding(setOf("0"));
  const answers = [later(), later()];
  state.isDown = true;
  const renewing = cached.replace(setOf("0"), setOf("1"));
  const logins = ["L1", "L2"].map((number, n) =>
    cached.logIn(setOf(number), async () => {
      await inner.save(setOf(number));
      await answers[n]?.promise;
    }),
  );
  for (const answer of answers) answer.resolve();
  await Promise.all(logins);
  expect((await notTaken(renewing))?.version).toBe("L2");
});
