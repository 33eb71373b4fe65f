import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { RetailPos, TokenStore } from "@retail-pos/core";
import { WordsOnly, wordsOf } from "../terminal/error-message.js";
import { WrongUse } from "../terminal/wrong-use.js";

/** What `sealedStore` makes, as far as the commands use it; its package may be there in no version. */
export interface SealingStore extends TokenStore {
  readonly firstKey: string;
  keyOf(domainPrefix: string): Promise<string | undefined>;
  seal(domainPrefix: string): Promise<"sealed" | "already" | "changed" | "gone">;
  unseal?(domainPrefix: string): Promise<"unsealed" | "already" | "changed" | "gone">;
}

/** What a module of an application exports for this command. */
interface Exports {
  readonly client: RetailPos;
  readonly store: SealingStore;
  readonly from: TokenStore;
  readonly to: TokenStore;
}

/** The functions that each export must have, and who makes it. */
const NEEDED = {
  client: { functions: ["retailers", "status", "renewDue", "disconnect"], maker: "retailPos()" },
  store: {
    functions: ["load", "save", "list", "keyOf", "seal"],
    maker: "sealedStore() around a store that can list",
  },
  from: { functions: ["load", "list"], maker: "a token store that can list" },
  to: { functions: ["load", "save"], maker: "a token store" },
} as const;

/** Node waits for a module without end, if it waits for a database that is away. */
const LOADED_WITHIN_MS = 30_000;

/**
 * Loads the application's module and takes what a command needs of it.
 *
 * @throws {WrongUse} there is no such file, or it does not export that.
 * @throws {WordsOnly} it threw while it was loaded, or did not end that within 30 seconds.
 */
export async function loadApplication<Name extends keyof Exports>(
  path: string | undefined,
  signal: AbortSignal,
  ...names: Name[]
): Promise<Pick<Exports, Name>> {
  if (path === undefined)
    throw new WrongUse(
      `--client is missing: your application's module, which exports ${names.join(" and ")}, as in --client ./retail-pos.js`,
    );
  const file = resolve(path);
  if (!existsSync(file)) throw new WrongUse("the file that --client names is not there");
  const exported = await load(file, signal);
  return Object.fromEntries(names.map((name) => [name, checked(exported, name)])) as Pick<Exports, Name>;
}

/** By their names, or by those of what CommonJS exports, which Node gives as the default. */
async function load(file: string, signal: AbortSignal): Promise<Record<string, unknown>> {
  const late = AbortSignal.any([signal, AbortSignal.timeout(LOADED_WITHIN_MS)]);
  const tooLate = new Promise<never>((_, reject) => {
    late.addEventListener("abort", () => reject(new WordsOnly("it did not finish loading")));
  });
  try {
    const module = (await Promise.race([import(pathToFileURL(file).href), tooLate])) as Record<
      string,
      unknown
    >;
    return { ...Object(module["default"]), ...module };
  } catch (error) {
    // `import()` does not tell the place of a syntax error.
    const words = wordsOf(error);
    const isPlaced = !(error instanceof SyntaxError) || words.includes(", at ");
    const where = isPlaced ? "" : `, in ${file} or what it imports: node --check says where`;
    throw new WordsOnly(`the module of --client failed: ${words}${where}`);
  }
}

function checked(exported: Record<string, unknown>, name: keyof Exports): unknown {
  const { functions, maker } = NEEDED[name];
  const value = exported[name];
  if (value === undefined || value === null)
    throw new WrongUse(`the module of --client exports no ${name}; it has to be what ${maker} gave`);
  if (typeof Object(value).then === "function")
    throw new WrongUse(`${name} of the module of --client is a promise: await it`);
  const missing = functions.filter((each) => typeof Object(value)[each] !== "function");
  if (missing.length === 0) return value;
  const lacks = missing.map((each) => `${each}()`).join(", ");
  throw new WrongUse(`${name} of the module of --client has no ${lacks}; it has to be what ${maker} gave`);
}
