import { once } from "node:events";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { retailFetch } from "./index.js";

// What the host sends before it closes the connection may be read later. If undici 7 waited for the reader, it would
// end the process.

const SIZE = 120_000;
const KEPT = "Connection: keep-alive\r\n";
const LENGTH = `Content-Length: ${SIZE}\r\n`;
const body = "x".repeat(SIZE);
const rows = {
  "that says so": `HTTP/1.1 200 OK\r\nConnection: close\r\n${LENGTH}\r\n${body}`,
  "whose body ends with it": `HTTP/1.1 200 OK\r\n\r\n${body}`,
  "of HTTP/1.0": `HTTP/1.0 200 OK\r\n${LENGTH}\r\n${body}`,
  "that is kept, though its body ends with it": `HTTP/1.1 200 OK\r\n${KEPT}\r\n${body}`,
  "of HTTP/1.0, the same": `HTTP/1.0 200 OK\r\n${KEPT}\r\n${body}`,
  "in a coding that is not chunked": `HTTP/1.1 200 OK\r\n${KEPT}Transfer-Encoding: identity\r\n\r\n${body}`,
  "that says both": `HTTP/1.1 200 OK\r\nConnection: close\r\n${KEPT}${LENGTH}\r\n${body}`,
  "that is kept": `HTTP/1.1 200 OK\r\n${KEPT}${LENGTH}\r\n${body}`,
  "in chunks": `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${SIZE.toString(16)}\r\n${body}\r\n0\r\n\r\n`,
};

/** By its path: the answer's number, and how the connection ends. */
const host: Server = createServer((socket) => {
  sockets.push(socket);
  socket
    .on("error", () => {})
    .once("data", (request) => {
      const [, number, end] = /\/(\d+)\/(\w+)/.exec(String(request)) ?? [];
      socket.write(Object.values(rows)[Number(number)] ?? "", () => {
        if (end === "end") socket.end();
        else setTimeout(() => socket.resetAndDestroy(), 50);
      });
    });
});
const sockets: Socket[] = [];

beforeAll(async () => {
  host.listen(0, "127.0.0.1");
  await once(host, "listening");
});
afterAll(() => void host.close());

const address = (name: string, end: string) =>
  `http://127.0.0.1:${(host.address() as AddressInfo).port}/${Object.keys(rows).indexOf(name)}/${end}`;
const allClosed = () => expect.poll(() => sockets.every(({ closed }) => closed)).toBe(true);

describe.each([{ keepAliveMs: 10_000 }, { keepAliveMs: 0 }])("with %j", (options) => {
  test.each(Object.keys(rows))("an answer %s may be read after the connection was closed", async (name) => {
    const fetch = retailFetch(options);
    const answer = await fetch(address(name, "end"));
    await allClosed();
    expect(await answer.text()).toHaveLength(SIZE);
    await fetch.close();
  });

  test.each(Object.keys(rows))("a host that resets after an answer %s ends no more than it", async (name) => {
    const fetch = retailFetch(options);
    const answer = await fetch(address(name, "reset"));
    await allClosed();
    expect([SIZE, "terminated"]).toContain(
      await answer.text().then(
        ({ length }) => length,
        ({ message }) => message,
      ),
    );
    await fetch.close();
  });
});
