import type { DomainPrefix } from "../vocabulary/domain-prefix.js";
import { ifNone, refuseStrayCharacters } from "./option-checks.js";

/** The addresses of the service, made from `authUrl` and `baseUrl`. */
export interface Addresses {
  /** The consent page, for the retailer's browser (4.1); `undefined` in a program without logins. */
  readonly connectUrl: string | undefined;
  /** {base_url} with `{domain_prefix}` in it, without a trailing slash. */
  readonly template: string;
  /** {base_url} of one retailer, without a trailing slash. */
  baseUrl(domainPrefix: DomainPrefix): string;
  /** Whether all retailers have one origin: `{domain_prefix}` is a segment of the path. */
  readonly sharesOrigin: boolean;
}

const PLACEHOLDER = "{domain_prefix}";

/** A retailer's token endpoint (4.2, 4.3). */
export function tokenUrl(baseUrl: string): string {
  return `${baseUrl}/api/1.0/token`;
}

/** @throws {TypeError} naming `authUrl` or `baseUrl`. */
export function addressesAt(authUrl: unknown, baseUrl: unknown): Addresses {
  const ofRetailer = baseUrlOf(baseUrl);
  return {
    connectUrl: authUrl === undefined ? undefined : connectUrlOf("authUrl", authUrl),
    template: ofRetailer(PLACEHOLDER as DomainPrefix),
    baseUrl: ofRetailer,
    sharesOrigin: sharesOrigin(baseUrl as string),
  };
}

/**
 * `{auth_url}/connect` (4.1).
 *
 * @throws {TypeError} naming the option.
 */
export function connectUrlOf(option: string, authUrl: unknown): string {
  const { origin, pathname } = secureUrl(option, authUrl instanceof URL ? authUrl.href : authUrl);
  const path = withoutTrailingSlash(pathname);
  if (path.endsWith("/connect")) throw new TypeError(`${option} must be without /connect, which is appended`);
  return `${origin}${path}/connect`;
}

/**
 * Turns the template into a function that makes a retailer's base URL. The template has to contain `{domain_prefix}`
 * exactly once: as the first label of the host, or as a whole segment of the path.
 *
 * @throws {TypeError} naming the option.
 */
export function baseUrlOf(template: unknown, option = "baseUrl"): (domainPrefix: DomainPrefix) => string {
  if (typeof template === "string") refuseStrayCharacters(option, template);
  const parts = typeof template === "string" ? template.split(PLACEHOLDER) : [];
  const [before, after] = parts;
  if (parts.length !== 2 || before === undefined || after === undefined) {
    throw new TypeError(
      `${option} must be a text that contains ${PLACEHOLDER} exactly once${ifNone(template, option)}`,
    );
  }
  addressText(option, template);
  const isFirstLabel = /^https?:\/\/$/i.test(before) && /^\.[^./?#\\]/.test(after);
  const isSegment = /^https?:\/\/[^/?#\\]+\/([^?#\\]*\/)?$/i.test(before) && /^(\/|$)/.test(after);
  if (!isFirstLabel && !isSegment) {
    throw new TypeError(
      `${option} must have ${PLACEHOLDER} as the first label of its host or as a segment of its path`,
    );
  }
  const sample = labelNotIn(template as string);
  const url = secureUrl(option, `${before}${sample}${after}`);
  const [head, tail] = `${url.origin}${withoutTrailingSlash(url.pathname)}`.split(sample);
  if (head === undefined || tail === undefined)
    throw new TypeError(`${option} must not contain dot segments`);
  return (domainPrefix) => head + domainPrefix + tail;
}

/** Whether all retailers have one origin, for a template that {@link baseUrlOf} accepts. */
export function sharesOrigin(template: string): boolean {
  return !/^https?:\/\/\{/i.test(template);
}

/**
 * A sample domain prefix, to check the template with. It has letters only: digits could make the host a numeric
 * address.
 */
function labelNotIn(text: string): string {
  let label = "retailer";
  while (text.toLowerCase().includes(label)) label += "r";
  return label;
}

/**
 * Checks a URL that secrets will be sent to: https, or http on this machine; no credentials, query or fragment.
 *
 * @throws {TypeError} naming the option.
 */
export function secureUrl(option: string, text: unknown): URL {
  const address = addressText(option, text);
  const url = checkedUrl(option, address, "");
  if (/[?#]/.test(address)) throw new TypeError(`${option} must have no query and no fragment`);
  return url;
}

/**
 * Checks the redirect URI (RFC 9700, 2.6): https, or http on this machine. The URI is returned unchanged, because the
 * service compares it with the registered one, character by character.
 *
 * @throws {TypeError} naming the option.
 */
export function redirectUri(option: string, value: unknown): string {
  const address = addressText(option, value);
  checkedUrl(option, /[\s#]/.test(address) ? "" : address, " without a fragment, exactly as registered");
  return address;
}

function checkedUrl(option: string, address: string, more: string): URL {
  if (!URL.canParse(address)) throw new TypeError(`${option} must be an absolute URL${more}`);
  const url = new URL(address);
  if (url.protocol !== "https:" && !(url.protocol === "http:" && isLoopback(url.hostname)))
    throw new TypeError(`${option} must be https (http is accepted on loopback hosts only)`);
  if (url.username || url.password) throw new TypeError(`${option} must not contain a user name or password`);
  return url;
}

/** Checks the scheme first, because `localhost:3000` parses as a URL with the scheme `localhost`. */
function addressText(option: string, value: unknown): string {
  if (typeof value !== "string" || value.trim() === "")
    throw new TypeError(`${option} must be an absolute URL${ifNone(value, option)}`);
  refuseStrayCharacters(option, value);
  if (!/^https?:\/\//i.test(value))
    throw new TypeError(`${option} must begin with https:// (on a loopback host, http:// is accepted too)`);
  return value;
}

/** Whether a host can only be this machine: plain http harms nobody there. */
export function isLoopback(hostname: string): boolean {
  return /^(localhost|.+\.localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname);
}

export function withoutTrailingSlash(path: string): string {
  return path.replace(/(?<!\/)\/+$/, "");
}
