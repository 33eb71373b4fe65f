// Answers that never end, and readers who stop, with the built-in fetch of the Node that runs this. Run by
// test/stores-on-hosts.long.test.ts; prints how each call ended, and how much memory that took.
import { createServer } from "node:net";
import { Readable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { retailFetch } from "@retail-pos/fetch";

const MIB = 1024 * 1024;
const piece = Buffer.alloc(65_536, "x");
const inChunks = (size) =>
  Buffer.from(`${size.toString(16)}\r\n${"x".repeat(size)}\r\n`.repeat(65_536 / size));
const LENGTH = "Content-Length: 9000000000\r\n";
const CHUNKED = "Transfer-Encoding: chunked\r\n";
/** What a host says first, and then for as long as its connection lives. */
const ways = {
  closed: ["HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n", piece],
  closedWithLength: [`HTTP/1.1 200 OK\r\nConnection: close\r\n${LENGTH}\r\n`, piece],
  nothingSaid: ["HTTP/1.1 200 OK\r\n\r\n", piece],
  keptWithLength: [`HTTP/1.1 200 OK\r\n${LENGTH}\r\n`, piece],
  keptWithout: ["HTTP/1.1 200 OK\r\nConnection: keep-alive\r\n\r\n", piece],
  chunked: [`HTTP/1.1 200 OK\r\n${CHUNKED}\r\n`, inChunks(65_536)],
  chunkedClosed: [`HTTP/1.1 200 OK\r\nConnection: close\r\n${CHUNKED}\r\n`, inChunks(65_536)],
  tinyChunks: [`HTTP/1.1 200 OK\r\n${CHUNKED}\r\n`, inChunks(64)],
  http10: ["HTTP/1.0 200 OK\r\n\r\n", piece],
  http10Kept: ["HTTP/1.0 200 OK\r\nConnection: keep-alive\r\n\r\n", piece],
};
/** A byte, and 64 kB of a chunk's extension that come with it; 256 MiB in all. */
const wideChunk = `1;${"x".repeat(65_530)}\r\nx\r\n`;
const wideChunks = () =>
  Readable.from([`HTTP/1.1 200 OK\r\n${CHUNKED}\r\n`, ...Array(4096).fill(wideChunk), "0\r\n\r\n"]);
/** Connections that still send such an answer. */
let sending = 0;
const host = createServer((socket) => {
  socket
    .on("error", () => {})
    .once("data", (request) => {
      const [head, body] = ways[/\/(\w+)/.exec(String(request))[1]] ?? [];
      const isWide = String(request).includes("/wide");
      if (!head && !isWide) return socket.end("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
      sending += 1;
      socket.once("close", () => (sending -= 1));
      if (isWide) return void wideChunks().pipe(socket);
      const goOn = () => {
        while (!socket.destroyed && socket.write(body));
      };
      socket.on("drain", goOn).write(head);
      goOn();
    });
});
await new Promise((resolve) => host.listen(0, "127.0.0.1", resolve));
const origin = `http://127.0.0.1:${host.address().port}`;
const fetch = retailFetch();

const used = () => {
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
};
let peak = 0;
setInterval(() => (peak = Math.max(peak, used())), 5).unref();
/** How much memory was taken beyond what is used now. */
function watched() {
  globalThis.gc();
  const before = used();
  peak = 0;
  return () => (peak - before < 100 * MIB ? "bounded" : peak - before);
}

const ended = {};
for (const way of Object.keys(ways)) {
  const taken = watched();
  const [unread, begun] = [await fetch(`${origin}/${way}`), await fetch(`${origin}/${way}`)];
  const reader = begun.body.getReader();
  for (let read = 0; read < MIB; ) read += (await reader.read()).value.length;
  while (sending > 0) await sleep(5);
  const outcomes = [unread.text(), reader.read()].map((reading) => reading.catch(({ cause }) => cause.code));
  const next = await (await fetch(`${origin}/`)).text();
  ended[way] = [...(await Promise.all(outcomes)), next, taken()];
}
const taken = watched();
const unread = await fetch(`${origin}/wide`);
while (sending > 0) await sleep(5);
const wide = [(await unread.text()).length, taken()];
await fetch.close();
console.log(JSON.stringify({ ended, wide }));
host.close();
