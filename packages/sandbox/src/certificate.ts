import { generateKeyPair, randomBytes } from "node:crypto";
import { promisify } from "node:util";

/** A certificate that vouches for itself, and its key. Both are PEM. */
export interface Certificate {
  readonly key: string;
  readonly cert: string;
}

const AN_HOUR_MS = 3_600_000;
const THIRTY_DAYS_MS = 30 * 24 * AN_HOUR_MS;
const inThirtyDays = () => new Date(Date.now() + THIRTY_DAYS_MS);
/** What kind of name a subject alternative name is (RFC 5280, section 4.2.1.6). */
const DNS_NAME = 2;
const IP_ADDRESS = 7;

/**
 * Makes a certificate for 127.0.0.1 and these hosts. Whoever trusts it has to be told: it is its own authority.
 *
 * @param until when it ends; default in thirty days, by the machine's clock. It begins thirty days and an hour before
 * that: the hour is for clocks that differ.
 */
export async function newCertificate(
  hosts: readonly string[],
  until: Date = inThirtyDays(),
): Promise<Certificate> {
  const { default: forge } = await import("node-forge"); // read by those who want a certificate only
  const keys = await promisify(generateKeyPair)("rsa", {
    modulusLength: 2048,
    publicKeyEncoding: { type: "spki", format: "pem" },
    privateKeyEncoding: { type: "pkcs8", format: "pem" },
  });
  const certificate = forge.pki.createCertificate();
  certificate.publicKey = forge.pki.publicKeyFromPem(keys.publicKey);
  certificate.serialNumber = `01${randomBytes(15).toString("hex")}`; // positive, and without a zero in front (X.690)
  certificate.validity.notBefore = new Date(until.getTime() - THIRTY_DAYS_MS - AN_HOUR_MS);
  certificate.validity.notAfter = until;
  const name = [{ name: "commonName", value: "Retail POS sandbox" }];
  certificate.setSubject(name);
  certificate.setIssuer(name);
  certificate.setExtensions([
    { name: "basicConstraints", cA: true, critical: true },
    { name: "keyUsage", digitalSignature: true, keyEncipherment: true, keyCertSign: true, critical: true },
    { name: "extKeyUsage", serverAuth: true },
    {
      name: "subjectAltName",
      altNames: [{ type: IP_ADDRESS, ip: "127.0.0.1" }, ...hosts.map((value) => ({ type: DNS_NAME, value }))],
    },
  ]);
  certificate.sign(forge.pki.privateKeyFromPem(keys.privateKey), forge.md.sha256.create());
  return { key: keys.privateKey, cert: forge.pki.certificateToPem(certificate) };
}
