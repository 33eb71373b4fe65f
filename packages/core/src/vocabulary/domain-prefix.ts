import { InvalidDomainPrefixError, kindOf } from "./errors.js";

/**
 * The label that names one retailer in `https://{domain_prefix}.<service host>`.
 * Only {@link parseDomainPrefix} makes one, so it is safe in a host name, a store key or a log line.
 */
export type DomainPrefix = string & {
  /** For the compiler only: no text has it. */
  readonly __brand: "DomainPrefix";
};

/**
 * One DNS label (RFC 1123, section 2.1): letters, digits and inner hyphens, 63 characters at most. No broken Punycode.
 */
const dnsLabel = /^[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?$/;

/**
 * Checks a stranger's text and returns it lower-cased. Nothing is trimmed or decoded: text that is not already one
 * DNS label is refused, because a client secret is about to be posted to the host that is built from it.
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
