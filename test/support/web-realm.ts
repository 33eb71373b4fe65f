import { fileURLToPath } from "node:url";
import { createContext, runInContext } from "node:vm";
import { rolldown } from "rolldown";
import { sources } from "./sources.js";

/** What every runtime of the web has, and nothing of Node's. */
const WEB = [
  ...["AbortController", "AbortSignal", "Blob", "DOMException", "Event", "EventTarget", "File", "FormData"],
  ...["Headers", "ReadableStream", "Request", "Response", "TextDecoder", "TextEncoder", "TransformStream"],
  ...["URL", "URLSearchParams", "WritableStream", "atob", "btoa", "clearInterval", "clearTimeout", "console"],
  ...["crypto", "fetch", "performance", "queueMicrotask", "structuredClone"],
] as const;

/** A realm with web globals alone, where a timer is a number. */
export function webRealm(): object {
  const web = Object.fromEntries(WEB.map((name) => [name, globalThis[name]]));
  const numbered = (start: typeof setTimeout | typeof setInterval) => (work: () => void, ms?: number) =>
    Number(start(work, ms)[Symbol.toPrimitive]());
  return createContext({ ...web, setTimeout: numbered(setTimeout), setInterval: numbered(setInterval) });
}

/** The exports of a package, bundled as it is published, core with it, and run in the realm. */
export async function inRealm<Exports>(realm: object, source: string): Promise<Exports> {
  const bundle = await rolldown({
    input: fileURLToPath(new URL(`../../${source}`, import.meta.url)),
    platform: "neutral",
    resolve: { alias: { "@retail-pos/core": sources.get("@retail-pos/core") ?? "" } },
  });
  const { output } = await bundle.generate({ format: "iife", name: "exported" });
  await bundle.close();
  return runInContext(`${output[0].code}; exported`, realm);
}
