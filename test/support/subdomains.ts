import type { RequestListener } from "node:http";
import { type Sandbox, startSandbox } from "@retail-pos/sandbox";
import { onTestFinished } from "vitest";
import { type Listening, listen } from "./listen.js";
import type { Combination } from "./sites.js";
import { endTls } from "./tls-proxy.js";

/** For a browser: every host below `shop.test` is this machine. */
export const SUBDOMAINS = "--host-resolver-rules=MAP *.shop.test 127.0.0.1";

export interface Subdomains {
  readonly sandbox: Sandbox;
  /** The application as a browser sees it, on https. */
  readonly origin: string;
  /** The application without its proxy, for somebody who needs no browser. */
  readonly inner: Listening;
  /** A page of somebody else's on a host beside the application's, which sets this cookie for both. */
  readonly plant: (name: string, value: string) => string;
  /** The `Cookie` headers that the application has got. */
  readonly cookieHeaders: readonly string[];
}

/** An application on a subdomain, behind a proxy that ends TLS; its neighbour is a stranger's. */
export async function startOnSubdomain({ site }: Combination): Promise<Subdomains> {
  let handler: RequestListener = () => {};
  const cookieHeaders: string[] = [];
  const inner = await listen((req, res) => {
    cookieHeaders.push(req.headers.cookie ?? "");
    handler(req, res);
  });
  const tls = await endTls(inner.origin, "app.shop.test");
  const origin = `https://app.shop.test:${tls.port}`;
  const redirectUri = `${origin}/callback`;
  const sandbox = await startSandbox({ redirectUri });
  const { authUrl, baseUrl, application } = sandbox;
  const { clientId: clientID, clientSecret } = application;
  const strategy = { authUrl, baseUrl, clientID, clientSecret, callbackURL: redirectUri };
  handler = site({ strategy, redirectUri });
  const stranger = await listen((req, res) => {
    const asked = new URL(req.url ?? "/", "http://localhost").searchParams;
    const cookie = `${asked.get("name")}=${asked.get("value")}; Domain=shop.test; Path=/`;
    res.writeHead(200, { "content-type": "text/html", "set-cookie": cookie }).end("hello");
  });
  onTestFinished(async () => {
    tls.close();
    await Promise.all([inner.close(), stranger.close(), sandbox.close()]);
  });
  return {
    sandbox,
    origin,
    inner,
    cookieHeaders,
    plant: (name, value) =>
      `http://evil.shop.test:${stranger.port}/?${new URLSearchParams({ name, value }).toString()}`,
  };
}
