import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { retailFetch } from "./index.js";

// What the host sends before it closes the connection waits for a reader: as much as fits, or a little more or less.

const sizes = [65_000, 65_400, 65_536, 66_000, 80_000, 100_000, 120_000];
const heads: Record<string, (size: number) => string> = {
  "that says so": (size) => `HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: ${size}\r\n\r\n`,
  "whose body ends with it": () => "HTTP/1.1 200 OK\r\n\r\n",
  "of HTTP/1.0": (size) => `HTTP/1.0 200 OK\r\nContent-Length: ${size}\r\n\r\n`,
};

for (const [kind, head] of Object.entries(heads)) {
  for (const keepAliveMs of [60_000, 0]) {
    test(`an answer ${kind} may be read after the connection was closed (keepAliveMs ${keepAliveMs})`, async () => {
      const server = createServer((socket) => {
        socket
          .on("error", () => {})
          .once("data", (request) => {
            const size = Number(/\/(\d+)/.exec(String(request))?.[1]);
            socket.end(Buffer.concat([Buffer.from(head(size)), Buffer.alloc(size, "x")]));
          });
      });
      server.listen(0, "127.0.0.1");
      await once(server, "listening");
      onTestFinished(() => void server.close());
      const fetch = retailFetch({ keepAliveMs });
      const { port } = server.address() as AddressInfo;
      const answers = await Promise.all(sizes.map((size) => fetch(`http://127.0.0.1:${port}/${size}`)));
      await new Promise((resolve) => setTimeout(resolve, 300));
      const texts = await Promise.all(answers.map((answer) => answer.text()));
      expect(texts.map(({ length }) => length)).toEqual(sizes);
      await fetch.close();
    });
  }
}
