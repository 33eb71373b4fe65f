import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { retailFetch } from "./index.js";

// What the host sends before it closes the connection waits for a reader: as much as fits, or a little more or less.

const sizes = [65_000, 65_400, 65_536, 66_000, 80_000, 100_000, 120_000];
const KEPT = "Connection: keep-alive\r\n";
const heads: Record<string, (size: number) => string> = {
  "that says so": (size) => `HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: ${size}\r\n\r\n`,
  "whose body ends with it": () => "HTTP/1.1 200 OK\r\n\r\n",
  "of HTTP/1.0": (size) => `HTTP/1.0 200 OK\r\nContent-Length: ${size}\r\n\r\n`,
  "that is kept, though its body ends with it": () => "HTTP/1.1 200 OK\r\nConnection: keep-alive\r\n\r\n",
  "of HTTP/1.0, the same": () => "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\n\r\n",
  "in a coding that is not chunked": () => `HTTP/1.1 200 OK\r\n${KEPT}Transfer-Encoding: identity\r\n\r\n`,
  "that says both": (size) =>
    `HTTP/1.1 200 OK\r\nConnection: close\r\n${KEPT}Content-Length: ${size}\r\n\r\n`,
  "that says so to a proxy": (size) =>
    `HTTP/1.1 200 OK\r\n${KEPT}Proxy-Connection: close\r\nContent-Length: ${size}\r\n\r\n`,
};

/** A host that does this with a connection once a request has come. @returns its origin. */
async function hostThat(answers: (socket: Socket, request: string) => void): Promise<string> {
  const server = createServer((socket) => {
    socket.on("error", () => {}).once("data", (request) => answers(socket, String(request)));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

for (const [kind, head] of Object.entries(heads)) {
  for (const keepAliveMs of [60_000, 0]) {
    test(`an answer ${kind} may be read after the connection was closed (keepAliveMs ${keepAliveMs})`, async () => {
      const origin = await hostThat((socket, request) => {
        const size = Number(/\/(\d+)/.exec(request)?.[1]);
        socket.end(Buffer.concat([Buffer.from(head(size)), Buffer.alloc(size, "x")]));
      });
      const fetch = retailFetch({ keepAliveMs });
      const answers = await Promise.all(sizes.map((size) => fetch(`${origin}/${size}`)));
      await sleep(300);
      const texts = await Promise.all(answers.map((answer) => answer.text()));
      expect(texts.map(({ length }) => length)).toEqual(sizes);
      await fetch.close();
    });
  }
}

const chunk = "x".repeat(100_000);
const chunked = `Transfer-Encoding: chunked\r\n\r\n${chunk.length.toString(16)}\r\n${chunk}\r\n0\r\n\r\n`;
const resets: Record<string, string> = {
  ...Object.fromEntries(Object.entries(heads).map(([kind, head]) => [kind, head(100_000) + chunk])),
  "of HTTP/1.0, in chunks": `HTTP/1.0 200 OK\r\n${chunked}`,
};

test.each(Object.entries(resets))(
  "a host that resets after an answer %s ends nothing but that answer",
  async (_, said) => {
    const origin = await hostThat((socket) => {
      socket.write(said);
      setTimeout(() => socket.resetAndDestroy(), 100);
    });
    const fetch = retailFetch();
    const answer = await fetch(origin);
    await sleep(300);
    await answer.text().catch(() => {});
    await fetch.close();
  },
);

test.each([
  ["in chunks", "Transfer-Encoding: chunked\r\n", "500000\r\n"],
  ["with a length", "Content-Length: 5242880\r\n", ""],
])(
  "an answer that is kept waits for its reader: it is not read into memory (%s)",
  async (_, header, begin) => {
    let waits = 0;
    const origin = await hostThat((socket) => {
      socket.write(`HTTP/1.1 200 OK\r\n${KEPT}${header}\r\n${begin}`);
      for (let piece = 0; piece < 80; piece += 1) socket.write("x".repeat(65_536));
      setTimeout(() => {
        waits = socket.writableLength;
      }, 300);
    });
    const fetch = retailFetch();
    const answer = await fetch(origin);
    await sleep(500);
    expect(waits).toBeGreaterThan(0); // the system's own buffers hold less than five megabytes
    await answer.body?.cancel();
    await fetch.close();
  },
);
