import { isLoopback } from "@retail-pos/core/authoring";

/** Whether everybody between the browser and this address can read along. */
export function isReadableOnTheWay(url: URL): boolean {
  return url.protocol === "http:" && !isLoopback(url.hostname);
}

/** An address fit to be shown: queries carry states and codes, and some addresses a password. */
export function shown({ origin, pathname }: URL): string {
  return origin + pathname;
}

export function isWebAddress(text: string): boolean {
  return URL.canParse(text) && /^https?:\/\//i.test(text);
}
