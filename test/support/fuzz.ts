import fc from "fast-check";

/**
 * The same cases on every machine, until somebody asks for others:
 *
 *     FUZZ_SEED=7 FUZZ_RUNS=100000 vitest run packages/core/src/vocabulary/rate-limit.property.test.ts
 *
 * A failure names its seed and the path to the smallest case that shows it. With these as `FUZZ_SEED` and
 * `FUZZ_PATH`, and `-t` with the name of the test, that case is the only one tried. A sequence of commands is
 * found again by its seed alone.
 */
const seed = wholeNumber("FUZZ_SEED") ?? 20_300_101;
const runs = wholeNumber("FUZZ_RUNS");
/** Of the default number of cases; `pnpm test:unit` asks for a tenth. */
const share = Number(process.env["FUZZ_SHARE"] ?? 1);
const path = process.env["FUZZ_PATH"];

/**
 * Tries a property on `byDefault` cases, or as many as was asked for.
 *
 * @throws naming the seed, the path and the smallest counterexample.
 */
export async function holds(property: fc.IRawProperty<unknown>, byDefault: number): Promise<void> {
  await fc.assert(property, {
    seed,
    numRuns: runs ?? Math.ceil(byDefault * share),
    ...(path !== undefined && { path }),
  });
}

/** For what takes so long that a case without an answer must be told from a slow one. */
const PATIENCE_MS = 15_000;

/** Settles as the work does; what never settles is an error, so that a counterexample can be made smaller. */
export async function answered<T>(work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const never = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`No answer within ${PATIENCE_MS} ms`)), PATIENCE_MS);
  });
  return Promise.race([work, never]).finally(() => clearTimeout(timer));
}

/** Any value that JavaScript has, also those that break `String()`, `Object.keys()` and careless checks. */
export function anything(): fc.Arbitrary<unknown> {
  return fc.anything({
    withBigInt: true,
    withBoxedValues: true,
    withDate: true,
    withMap: true,
    withNullPrototype: true,
    withSet: true,
    withSparseArray: true,
    withTypedArray: true,
    maxDepth: 2,
  });
}

/** Texts that options may hold and mostly should not. */
const texts = fc.oneof(
  fc.constantFrom(
    "",
    " ",
    "\n",
    "\0",
    "a b",
    "é",
    "\ud800",
    "a\r\nb: c",
    "__proto__",
    "NaN",
    "0",
    '"; DROP TABLE a; --',
  ),
  fc.constantFrom(
    "http://example.com",
    "https://example.com",
    "https://user:pw@example.com",
    "https://a.example/?b#c",
  ),
  fc.constantFrom(
    "//example.com",
    "javascript:alert(1)",
    "https://",
    "https://[::1]",
    "http://localhost:1",
    "/callback",
  ),
  fc.string({ unit: "binary" }),
  fc.webUrl(),
);

/** Good options of which some are replaced by anything, or left out; `names` are those it may happen to. */
export function spoilt<T extends object>(
  good: T,
  names: readonly string[] = Object.keys(good),
  values: fc.Arbitrary<unknown> = fc.constant(undefined),
): fc.Arbitrary<T> {
  const value = fc.oneof(
    { weight: 3, arbitrary: anything() },
    { weight: 3, arbitrary: texts },
    {
      weight: 2,
      arbitrary: fc.oneof(fc.double(), fc.integer(), fc.constantFrom(null, undefined, true, false, {}, [])),
    },
    { weight: 4, arbitrary: values },
  );
  const changes = fc.array(fc.tuple(fc.constantFrom(...names), value), { minLength: 1, maxLength: 3 });
  return fc.tuple(changes, fc.subarray([...names], { maxLength: 1 })).map(([replaced, missing]) => {
    const all = { ...good, ...Object.fromEntries(replaced) } as Record<string, unknown>;
    for (const name of missing) delete all[name];
    return all as T;
  });
}

/**
 * What the work returns, or `undefined` where it refused its options with a `TypeError` that names one,
 * or, for `domainPrefix`, with the error of its own.
 *
 * @throws for every other error.
 */
export function unlessRefused<T>(work: () => T, names: readonly string[]): T | undefined {
  try {
    return work();
  } catch (error) {
    const isNamed = error instanceof TypeError && names.some((name) => error.message.startsWith(name));
    const isPrefix = Object(error).code === "invalid_domain_prefix" && names.includes("domainPrefix");
    if (!isNamed && !isPrefix)
      throw new Error(`Refused otherwise than by a TypeError that names an option: ${error}`, {
        cause: error,
      });
    return undefined;
  }
}

function wholeNumber(name: string): number | undefined {
  const text = process.env[name];
  if (text === undefined || text === "") return undefined;
  const value = Number(text);
  if (!Number.isSafeInteger(value)) throw new TypeError(`${name} must be a whole number`);
  return value;
}
