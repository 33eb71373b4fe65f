// What hosts do to a connection, with the built-in fetch of the Node that runs this: each tells its dispatcher of a
// request in a way of its own. Run by test/stores-on-hosts.long.test.ts; prints what came of each call.
import { createServer } from "node:http";
import { createServer as createTcpServer } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { retailFetch } from "@retail-pos/fetch";

const own = retailFetch({ perHost: 1 });
const seen = { connections: 0 };
const held = [];
const host = createServer((request, response) => {
  if (request.url === "/held") return held.push(response);
  if (request.url === "/moved")
    return response.writeHead(302, { location: "/", "content-length": 10 }).flushHeaders();
  if (request.url === "/no-gzip") return response.setHeader("content-encoding", "gzip").end("in plain text");
  response.end("ok");
}).on("connection", () => {
  seen.connections += 1;
});
const closing = createTcpServer((socket) =>
  socket.once("data", () => socket.end(`HTTP/1.0 200 OK\r\n\r\n${"x".repeat(100_000)}`)),
);
const [origin, closingOrigin] = await Promise.all([host, closing].map(listening));
const textOf = async (path, init) => (await own(origin + path, init)).text();
const told = {};

told.redirectWithoutEnd = await textOf("/moved");
told.notUnpacked = await textOf("/no-gzip").catch((error) => error.name);
told.afterIt = await textOf("/");

const { signal, abort } = withAbort();
const aborted = textOf("/held", { signal }).catch((error) => error.message);
const next = textOf("/");
while (held.length === 0) await sleep(5);
abort(new Error("enough"));
told.aborted = await aborted;
told.whoWaited = await next;

const late = await own(closingOrigin);
await sleep(200);
told.closedBeforeItWasRead = (await late.text()).length;

const before = seen.connections;
host.closeAllConnections();
told.onAClosedConnection = await textOf("/", { method: "POST", body: "once" });
told.newConnections = seen.connections - before;

const refused = createTcpServer();
const nobody = await listening(refused);
await new Promise((resolve) => refused.close(resolve));
told.nobody = await own(nobody).catch(({ cause }) => cause.code);

await own.close();
console.log(JSON.stringify(told));
host.close();
closing.close();

async function listening(server) {
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return `http://127.0.0.1:${server.address().port}`;
}

function withAbort() {
  const controller = new AbortController();
  return { signal: controller.signal, abort: (reason) => controller.abort(reason) };
}
