/** An error with more objects than this is not searched; core then assumes that it shows a secret. */
const MOST_OBJECTS = 50_000;

/** All texts that can be read from an error, as one; `undefined` if a part cannot be read. */
export function textsIn(error: unknown): string | undefined {
  const texts: string[] = [];
  const seen = new Set<unknown>();
  const waiting = [error, called(error, "toString")];
  try {
    while (waiting.length > 0) {
      const value = waiting.pop();
      if (!isObject(value)) texts.push(String(value));
      else if (!seen.has(value)) {
        if (seen.add(value).size > MOST_OBJECTS) return undefined;
        waiting.push(...partsOf(value));
      }
    }
    return [...texts, ...printed(error)].join("\n");
  } catch {
    return undefined;
  }
}

function isObject(value: unknown): value is object {
  return (typeof value === "object" && value !== null) || typeof value === "function";
}

/** The names and values of its properties, and the contents of the platform's own objects. */
function partsOf(value: object): unknown[] {
  if (ArrayBuffer.isView(value))
    return [new TextDecoder().decode(new Uint8Array(value.buffer, value.byteOffset, value.byteLength))];
  const own = Reflect.ownKeys(value).flatMap((key) => [key, read(value, key)]);
  own.push(called(value, "toJSON"));
  if (value instanceof Map || value instanceof Set) return [...own, ...[...value.entries()].flat()];
  if (value instanceof Error) return [...own, ...inherited(value)];
  const kind = Object.prototype.toString.call(value).slice("[object ".length, -1);
  if (kind === "Headers" || kind === "FormData" || kind === "URLSearchParams")
    return [...own, ...[...(value as Headers).entries()].flat()];
  if (kind === "Request" || kind === "Response") return [...own, read(value, "url"), read(value, "headers")];
  return kind === "URL" ? [...own, read(value, "href")] : own;
}

/** The values of the getters of an error's own classes. */
function inherited(error: Error): unknown[] {
  const values: unknown[] = [];
  let one = Object.getPrototypeOf(error);
  while (one && one !== Error.prototype && one !== Object.prototype) {
    values.push(...Reflect.ownKeys(one).map((key) => read(error, key)));
    one = Object.getPrototypeOf(one);
  }
  return values;
}

/** The error as the console prints it, with and without its own `inspect` method: either may show more. */
function printed(error: unknown): string[] {
  const print = globalThis.process?.getBuiltinModule?.("node:util")?.inspect; // other runtimes have none
  if (!print) return [];
  const all = { depth: 25, showHidden: true, maxStringLength: null, maxArrayLength: null };
  return [print(error, all), print(error, { ...all, customInspect: false, getters: true })];
}

/** What a method of its own gives; `undefined` if there is none, or it throws. */
function called(value: unknown, method: "toJSON" | "toString"): unknown {
  try {
    return (value as Record<string, () => unknown>)[method]?.();
  } catch {
    return undefined;
  }
}

/** A property; `undefined` if its getter throws, because then it shows nothing. */
export function read(value: unknown, key: string | symbol): unknown {
  try {
    return Object(value)[key];
  } catch {
    return undefined;
  }
}
