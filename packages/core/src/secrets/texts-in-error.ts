/** An error with more parts than this is not searched; core then assumes that it shows a secret. */
const MOST_PARTS = 100_000;

/**
 * All texts in an error, as one; `undefined` unless it is plain data through and through: errors, objects and lists of
 * texts and numbers. What has methods may show more than can be read from it: to JSON, to the console, as a stream.
 */
export function textsIn(error: unknown): string | undefined {
  const parts = new Set([error]);
  for (const part of parts) {
    if (typeof part === "function" || ArrayBuffer.isView(part) || parts.size > MOST_PARTS) return undefined;
    if (typeof part !== "object" || part === null) continue;
    for (const key of keysOf(part)) parts.add(String(key)).add(read(part, key)); // the loop goes on with them
  }
  return [...parts]
    .filter((part) => typeof part !== "object")
    .map(String)
    .join("\n");
}

/** The names of its properties; not of those that every object, error or list has. */
function keysOf(value: object): PropertyKey[] {
  const above = Array.isArray(value) ? undefined : Object.getPrototypeOf(value);
  const inherited = above && Object.getPrototypeOf(above) ? keysOf(above) : [];
  return [...Reflect.ownKeys(value), ...inherited.filter((key) => !isHarmless(value, key))];
}

/** A method of an error's class shows nothing by itself, unless JSON or the console calls it. */
function isHarmless(value: object, key: PropertyKey): boolean {
  if (key === "constructor" || key === "toString") return true;
  return (
    value instanceof Error &&
    typeof key === "string" &&
    key !== "toJSON" &&
    typeof read(value, key) === "function"
  );
}

/** A property; `undefined` if its getter throws, because then it shows nothing. */
export function read(value: unknown, key: PropertyKey): unknown {
  try {
    return Object(value)[key];
  } catch {
    return undefined;
  }
}
