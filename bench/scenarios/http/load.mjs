// Keep-alive connections that send one request after the other: little work for an answer, so that the server is
// what is waited for. It never sleeps, and takes a core for that: an answer to who sleeps costs the server the waking
// too, and how often that is depends on the pace of both, which would make a small difference a large one.
import { once } from "node:events";
import { connect } from "node:net";
import { commanded } from "../../lib/process.mjs";

const CONNECTIONS = 16;
const sockets = new Map();

commanded({
  /** Resolves with how long they took, milliseconds. Rejects when an answer is not 200 with the expected body. */
  async requests({ port, expected, requests }) {
    const open = await connectionsTo(port);
    const request = `GET / HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n\r\n`;
    const good = new RegExp(`^HTTP/1.1 200 OK\r\n[^]*\r\n\r\n${expected}$`);
    let toSend = requests;
    const startedAt = performance.now();
    const awake = stayAwake();
    try {
      await Promise.all(open.map(askAgainAndAgain));
    } finally {
      awake.stop();
    }
    return performance.now() - startedAt;

    function askAgainAndAgain(socket) {
      return new Promise((resolve, reject) => {
        let answer = "";
        const onClose = () => reject(new Error("the server closed a connection"));
        socket.once("close", onClose);
        socket.on("data", (text) => {
          answer += text;
          if (!answer.endsWith(expected)) {
            if (answer.length > 4096 || !answer.startsWith("HTTP/1.1 200")) reject(new Error(answer));
            return;
          }
          if (!good.test(answer)) reject(new Error(answer));
          answer = "";
          send();
        });
        send();

        function send() {
          if (toSend > 0) {
            toSend -= 1;
            socket.write(request);
          } else {
            socket.removeAllListeners("data").off("close", onClose);
            resolve();
          }
        }
      });
    }
  },
});

function stayAwake() {
  let isOver = false;
  const turn = () => isOver || setImmediate(turn);
  turn();
  return {
    stop: () => {
      isOver = true;
    },
  };
}

async function connectionsTo(port) {
  if (!sockets.has(port)) {
    const opened = Array.from({ length: CONNECTIONS }, () =>
      connect({ port, host: "127.0.0.1", noDelay: true }),
    );
    await Promise.all(opened.map((socket) => once(socket.setEncoding("latin1"), "connect")));
    for (const socket of opened) {
      socket.on("error", () => {}); // its server is closed after its rounds
      socket.once("close", () => sockets.delete(port)); // another server may get the port
    }
    sockets.set(port, opened);
  }
  return sockets.get(port);
}
