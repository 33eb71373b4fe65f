import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import httpProxy from "http-proxy";
import { newCertificate } from "./certificate.js";

export interface TlsProxy {
  readonly port: number;
  /** For whoever is to trust it. */
  readonly certificate: string;
  close(): void;
}

/** A proxy that ends TLS before an application and says so to it, as a load balancer does. */
export async function endTls(target: string, hostname = "localhost"): Promise<TlsProxy> {
  const { key, cert } = await newCertificate([hostname]);
  const proxy = httpProxy.createProxyServer({ target, xfwd: true });
  // A browser may still ask for something when the application has closed.
  const server: Server = createServer({ key, cert }, (req, res) =>
    proxy.web(req, res, {}, () => res.destroy()),
  );
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    port: (server.address() as AddressInfo).port,
    certificate: cert,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}
