import { InvalidDomainPrefixError, kindOf } from "./errors.js";

/**
 * The label that names one retailer in `https://{domain_prefix}.<service host>`.
 * Only {@link parseDomainPrefix} makes one, so it is safe in a host name, a store key or a log line.
 */
export type DomainPrefix = string & {
  /** For the compiler only; no text has this property. */
  readonly __brand: "DomainPrefix";
};

/** One DNS label (RFC 1123, section 2.1): letters, digits and inner hyphens, at most 63 characters. */
const dnsLabel = /^[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?$/;

/**
 * Checks untrusted text and returns it lower-cased. The text has to be one DNS label as it is, without broken Punycode;
 * nothing is trimmed or decoded. Core sends the client secret to the host that it builds from the result.
 *
 * @throws {InvalidDomainPrefixError} for anything else; the error does not repeat the input.
 */
export function parseDomainPrefix(text: unknown): DomainPrefix {
  if (typeof text !== "string") throw new InvalidDomainPrefixError(`it is ${kindOf(text)}`);
  if (!dnsLabel.test(text)) throw new InvalidDomainPrefixError();
  const label = text.toLowerCase();
  if (label.startsWith("xn--") && !URL.canParse(`https://${label}.example`))
    throw new InvalidDomainPrefixError();
  return label as DomainPrefix;
}
