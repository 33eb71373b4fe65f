import type { RequestListener } from "node:http";
import { connect, createServer } from "node:http2";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { startSandbox } from "@retail-pos/sandbox";
import { expect, onTestFinished, test } from "vitest";
import { combinations } from "./support/sites.js";

// Over HTTP/2 a request names its host as `:authority`, and may have no `host`.

const onHttp2 = /^(Koa|Fastify)/;

test.each(combinations.filter(({ name }) => onHttp2.test(name)).map((one) => [one.name, one] as const))(
  "a relative callbackURL is the address the browser knows, and somebody logs in: %s",
  async (_, { site }) => {
    let handler: RequestListener = () => {};
    const { port, ask } = await listenOnHttp2((req, res) => handler(req, res));
    const redirectUri = `http://localhost:${port}/callback`;
    const sandbox = await startSandbox({ redirectUri });
    onTestFinished(() => sandbox.close());
    const { authUrl, baseUrl, application } = sandbox;
    const { clientId: clientID, clientSecret } = application;
    const strategy = { authUrl, baseUrl, clientID, clientSecret, callbackURL: "/callback" };
    handler = site({ strategy, redirectUri });

    const { location = "" } = (await ask("/login")).headers;
    expect(new URL(location).searchParams.get("redirect_uri")).toBe(redirectUri);
    const { pathname, search } = sandbox.consent(location, "harbour-coffee");
    const answer = await ask(pathname + search);
    expect([answer.headers[":status"], answer.body]).toEqual([
      200,
      expect.stringContaining("harbour-coffee"),
    ]);
  },
);

/** A server, and one browser's requests to it. */
async function listenOnHttp2(app: RequestListener) {
  const server = createServer((req, res) => app(req as never, res as never));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const session = connect(`http://localhost:${port}`);
  const cookies = new Map<string, string>();
  onTestFinished(() => {
    session.destroy();
    server.close();
  });
  return {
    port,
    async ask(path: string) {
      const cookie = [...cookies].map((pair) => pair.join("=")).join("; ");
      const request = session.request({ ":path": path, ...(cookie && { cookie }) });
      const headers = await new Promise<Record<string, string> & { "set-cookie"?: string[] }>(
        (resolve, reject) =>
          request.once("error", reject).once("response", (received) => resolve(received as never)),
      );
      for (const line of headers["set-cookie"] ?? []) {
        const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
        cookies.set(name, value);
      }
      return { headers, body: await text(request) };
    },
  };
}
