import {
  isRetailPosError,
  memoryStore,
  parseDomainPrefix,
  StoredTokensError,
  type TokenSet,
  type TokenStore,
} from "@retail-pos/core";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { answered, anything, holds, spoilt, unlessRefused } from "../../../test/support/fuzz.js";
import { sealedStore } from "./sealed-store.js";

const [shop, other] = [parseDomainPrefix("shop"), parseDomainPrefix("other")];
const keys = [
  { id: "2030-b", secret: new Uint8Array(32).fill(2) },
  { id: "2030-a", secret: new Uint8Array(32).fill(1) },
];
const setOf = (domainPrefix: typeof shop, version: string): TokenSet => ({
  domainPrefix,
  access: { value: `access-${domainPrefix}-${version}`, expiresAt: 2_000_000_000_000 },
  refreshToken: `refresh-${domainPrefix}-${version}`,
  issuedAt: 1_900_000_000_000,
  version,
});
/**
 * What somebody who can write to the store has seen of it: two retailers, two versions of each, one by an older key.
 */
const sets = [setOf(shop, "v1"), setOf(shop, "v2"), setOf(other, "v1"), setOf(other, "v2")];
const records = await Promise.all(
  sets.map((set, nth) => sealed(set, nth % 2 === 0 ? keys.toReversed() : keys)),
);

describe("a record that anybody has changed", () => {
  test("in any byte gives an error, or the very tokens that were sealed", async () => {
    const change = fc.record({
      at: fc.nat(),
      byte: fc.integer({ min: 1, max: 255 }),
      kind: fc.constantFrom("flip", "insert", "delete"),
    });
    await holds(
      fc.asyncProperty(
        fc.nat({ max: 3 }),
        fc.array(change, { minLength: 1, maxLength: 2 }),
        async (nth, changes) => {
          const text = changes.reduce(changed, Buffer.from(JSON.stringify(records[nth]))).toString();
          const record = parsed(text);
          if (typeof record !== "object" || record === null) return;
          const opened = await outcomeOf(opener(record).load((sets[nth] as TokenSet).domainPrefix));
          if (opened instanceof Error) expectTyped(opened);
          else expect(tokensOf(opened)).toEqual(tokensOf(sets[nth]));
        },
      ),
      3_000,
    );
  });

  test("in any character of a seal gives an error, or the very tokens that were sealed", async () => {
    const letter = fc.constantFrom(..."ABCDwxyz0189-_.=+/ \n");
    await holds(
      fc.asyncProperty(
        fc.nat({ max: 3 }),
        fc.boolean(),
        fc.nat(),
        letter,
        async (nth, isAccess, at, sign) => {
          const record = structuredClone(records[nth]) as { access: { value: string }; refreshToken: string };
          const seal = isAccess ? record.access.value : record.refreshToken;
          const index = at % seal.length;
          const spoiled = seal.slice(0, index) + sign + seal.slice(index + 1);
          if (isAccess) record.access.value = spoiled;
          else record.refreshToken = spoiled;
          const opened = await outcomeOf(opener(record).load((sets[nth] as TokenSet).domainPrefix));
          if (opened instanceof Error) expectTyped(opened);
          else expect(tokensOf(opened)).toEqual(tokensOf(sets[nth]));
        },
      ),
      2_000,
    );
  });

  test("by parts of other records, retailers, versions and keys gives an error, or one whole set of that retailer", async () => {
    const from = fc.nat({ max: 3 });
    const seal = fc.nat({ max: 7 });
    await holds(
      fc.asyncProperty(
        fc.record({ whole: from, access: seal, refresh: seal, version: from, asked: fc.boolean() }),
        async (pick) => {
          const seals = records.flatMap(({ access, refreshToken }) => [access.value, refreshToken]);
          const record = {
            ...records[pick.whole],
            access: { value: seals[pick.access] },
            refreshToken: seals[pick.refresh],
            version: records[pick.version]?.version,
          };
          const asked = pick.asked ? shop : other;
          const opened = await outcomeOf(opener(record).load(asked));
          const own = sets.filter(({ domainPrefix }) => domainPrefix === asked).map(tokensOf);
          if (opened instanceof Error) expectTyped(opened);
          else expect(own).toContainEqual(tokensOf(opened));
        },
      ),
      2_000,
    );
  });

  test("into anything else gives an error", async () => {
    const seal = fc.oneof(
      anything(),
      fc.tuple(fc.base64String(), fc.base64String()).map(([one, two]) => `${one}..${two}.a.b`),
    );
    const record = fc.oneof(
      anything(),
      fc.record({
        domainPrefix: fc.constant("shop"),
        access: fc.record({ value: seal }),
        refreshToken: seal,
        version: anything(),
      }),
    );
    await holds(
      fc.asyncProperty(record, async (stored) => {
        const opened = await outcomeOf(opener(stored).load(shop));
        if (opened instanceof Error) expectTyped(opened);
        else expect([opened, Boolean(stored)]).toEqual([undefined, false]);
      }),
      1_000,
    );
  });
});

test("what is sealed opens again, whatever the tokens are, and shows nothing of them in between", async () => {
  const token = fc.string({ unit: "binary", minLength: 12 }).filter((text) => !/\p{Cs}/u.test(text));
  await holds(
    fc.asyncProperty(
      token,
      token,
      fc.stringMatching(/^[\x21-\x7e]{1,60}$/),
      async (value, refreshToken, version) => {
        const set = { ...setOf(shop, version), access: { value }, refreshToken };
        const record = await sealed(set, keys);
        expect(await opener(record).load(shop)).toEqual(set);
        for (const secret of [value, refreshToken]) {
          expect(JSON.stringify(record)).not.toContain(secret);
          expect(JSON.stringify(record)).not.toContain(Buffer.from(secret).toString("base64url"));
        }
      },
    ),
    500,
  );
});

test("options either work or are refused by a TypeError that names one of them, without a secret", async () => {
  const key = spoilt(
    keys[0] as object,
    ["id", "secret"],
    fc.constantFrom<unknown>("a".repeat(64), "x", Buffer.alloc(31), Buffer.alloc(32)),
  );
  const values = fc.oneof(fc.array(key, { maxLength: 3 }), fc.constant(keys));
  await holds(
    fc.property(spoilt({ store: memoryStore(), keys }, ["store", "keys"], values), (given) => {
      unlessRefused(() => sealedStore(given.store, given), ["store", "keys"]);
    }),
    1_000,
  );
});

/** What reaches the store behind a sealed one. */
async function sealed(set: TokenSet, withKeys: typeof keys): Promise<TokenSet> {
  const store = memoryStore();
  await sealedStore(store, { keys: withKeys }).save(set);
  return JSON.parse(JSON.stringify(await store.load(set.domainPrefix)));
}

function opener(record: unknown): TokenStore {
  return sealedStore({ ...memoryStore(), load: async () => record as TokenSet }, { keys });
}

function tokensOf(set: unknown): unknown {
  const { access, refreshToken } = set as TokenSet;
  return [access.value, refreshToken];
}

function expectTyped(error: Error): void {
  if (!isRetailPosError(error)) throw new Error("The error is none of the library's", { cause: error });
  expect(error).toBeInstanceOf(StoredTokensError);
  expect(error.message).not.toMatch(/(access|refresh)-(shop|other)/);
}

async function outcomeOf(work: Promise<unknown>): Promise<unknown> {
  return answered(work.catch((error: unknown) => error));
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function changed(
  bytes: Buffer<ArrayBufferLike>,
  { at, byte, kind }: { at: number; byte: number; kind: string },
): Buffer<ArrayBufferLike> {
  const index = at % bytes.length;
  const [before, after] = [bytes.subarray(0, index), bytes.subarray(index)];
  if (kind === "insert") return Buffer.concat([before, Buffer.of(byte), after]);
  if (kind === "delete") return Buffer.concat([before, after.subarray(1)]);
  return Buffer.concat([before, Buffer.of((after[0] ?? 0) ^ byte), after.subarray(1)]);
}
