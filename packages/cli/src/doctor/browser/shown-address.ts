/** A host that only this machine can be: plain http harms nobody there. */
export function isLoopback({ hostname }: URL): boolean {
  return /^(localhost|.+\.localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname);
}

/** Whether everybody between the browser and this address can read along. */
export function isReadableOnTheWay(url: URL): boolean {
  return url.protocol === "http:" && !isLoopback(url);
}

/** An address fit to be shown: queries carry states and codes, and some addresses a password. */
export function shown({ origin, pathname }: URL): string {
  return origin + pathname;
}

export function isWebAddress(text: string): boolean {
  return URL.canParse(text) && /^https?:\/\//i.test(text);
}
