/** An error with more objects than this is not searched; core then assumes that it shows a secret. */
const MOST_OBJECTS = 50_000;

/**
 * Everything that can be read from a value or printed of it, as one text; `undefined` if a part cannot be read.
 */
export function contentsOf(value: unknown): string | undefined {
  try {
    return [...textsIn(value), ...printed(value), asJson(value)].join("\n");
  } catch {
    return undefined;
  }
}

/** All texts that can be reached from a value. @throws if something cannot be read. */
function textsIn(root: unknown): string[] {
  const texts: string[] = [];
  const seen = new Set<object>();
  const waiting = [root];
  while (waiting.length > 0) {
    const value = waiting.pop();
    if (!isObject(value)) texts.push(String(value));
    else if (!seen.has(value)) {
      seen.add(value);
      if (seen.size > MOST_OBJECTS) throw new Error("too much to look at");
      const bytes = bytesOf(value);
      if (bytes) texts.push(new TextDecoder().decode(bytes));
      else for (const part of partsOf(value)) waiting.push(part);
    }
  }
  return texts;
}

function isObject(value: unknown): value is object {
  return (typeof value === "object" && value !== null) || typeof value === "function";
}

function bytesOf(value: object): Uint8Array | undefined {
  if (ArrayBuffer.isView(value)) return new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
  if (value instanceof ArrayBuffer) return new Uint8Array(value);
  const isShared = typeof SharedArrayBuffer === "function" && value instanceof SharedArrayBuffer;
  return isShared ? new Uint8Array(value).slice() : undefined;
}

/** The names and values of its properties, and the contents of the platform's own objects. */
function* partsOf(value: object): Generator<unknown> {
  for (const key of Reflect.ownKeys(value)) {
    yield key;
    yield read(value, key);
  }
  if (value instanceof Map || value instanceof Set) for (const entry of value.entries()) yield* entry;
  if (value instanceof Error) yield* inherited(value);
  const kind = Object.prototype.toString.call(value).slice("[object ".length, -1);
  // Their contents can only be read asynchronously.
  if (kind === "Blob" || kind === "File") throw new Error("cannot be read now");
  if (kind === "Request" && read(value, "body")) throw new Error("cannot be read now");
  if (kind === "Headers" || kind === "FormData" || kind === "URLSearchParams") {
    for (const entry of (value as Headers).entries()) yield* entry;
  }
  if (kind === "Request" || kind === "Response") yield* [read(value, "url"), read(value, "headers")];
  if (kind === "URL") yield read(value, "href");
}

/** The values of the getters of an error's own classes. */
function* inherited(error: Error): Generator<unknown> {
  let prototype = Object.getPrototypeOf(error);
  while (prototype !== null && prototype !== Error.prototype && prototype !== Object.prototype) {
    for (const key of Reflect.ownKeys(prototype)) if (key !== "constructor") yield read(error, key);
    prototype = Object.getPrototypeOf(prototype);
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

/** The value as the console prints it, with and without its own `inspect` method: either may show more. */
function printed(value: unknown): string[] {
  const print = globalThis.process?.getBuiltinModule?.("node:util")?.inspect; // other runtimes have none
  if (!print) return [];
  const all = { depth: 25, showHidden: true, maxStringLength: null, maxArrayLength: null };
  return [print(value, all), print(value, { ...all, customInspect: false, getters: true })];
}

function asJson(value: unknown): string {
  try {
    return JSON.stringify(value) ?? "";
  } catch {
    return ""; // for example circular: then it has no JSON
  }
}
