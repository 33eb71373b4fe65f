// The way to a service that can be cut, while the service itself stays up.
import { once } from "node:events";
import { connect, createServer } from "node:net";

/** Shut, the proxy before `address` cuts every connection and refuses new ones. */
export async function cutProxy(address, defaultPort) {
  const url = new URL(address);
  const target = { host: url.hostname.replace(/[[\]]/g, ""), port: Number(url.port || defaultPort) };
  const sockets = new Set();
  let isOpen = true;

  // Refused by hand: a port that nobody listens on could be given to somebody else.
  const proxy = createServer((client) => {
    if (!isOpen) return void client.resetAndDestroy();
    const server = connect(target);
    join(client, server);
    join(server, client);
  }).listen(0, "127.0.0.1");
  await once(proxy, "listening");

  function join(from, to) {
    sockets.add(from);
    from.on("error", () => {}); // "close" follows
    from.on("close", () => {
      sockets.delete(from);
      to.destroy();
    });
    from.pipe(to);
  }

  function cut() {
    for (const socket of sockets) socket.destroy();
  }

  url.hostname = "127.0.0.1";
  url.port = String(proxy.address().port);
  return {
    url: url.href,
    shut() {
      isOpen = false;
      cut();
    },
    open() {
      isOpen = true;
    },
    async close() {
      proxy.close();
      cut();
      await once(proxy, "close");
    },
  };
}
