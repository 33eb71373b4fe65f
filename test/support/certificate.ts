import { generate } from "selfsigned";

/** A certificate that signs itself, and its key. Both are PEM. */
export interface Certificate {
  readonly key: string;
  readonly cert: string;
}

const A_DAY_MS = 86_400_000;

/**
 * Makes a certificate for 127.0.0.1 and these hosts. Clients have to be told to trust it.
 *
 * @param until when it ends, by default in a month. It begins two months before that.
 */
export async function newCertificate(
  hosts: readonly string[],
  until = new Date(Date.now() + 30 * A_DAY_MS),
): Promise<Certificate> {
  const names = hosts.map((value) => ({ type: 2, value }) as const); // 2: a DNS name, 7: an address (RFC 5280 4.2.1.6)
  const { private: key, cert } = await generate([{ name: "commonName", value: "localhost" }], {
    algorithm: "sha256",
    notBeforeDate: new Date(until.getTime() - 60 * A_DAY_MS),
    notAfterDate: until,
    extensions: [{ name: "subjectAltName", altNames: [{ type: 7, ip: "127.0.0.1" }, ...names] }],
  });
  return { key, cert };
}
