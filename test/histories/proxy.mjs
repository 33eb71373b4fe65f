// What lies between a process and its database: it delays, pauses and cuts connections, and can lead elsewhere.
import { once } from "node:events";
import { connect, createServer } from "node:net";

/** @param port where it leads to at first. */
export async function startProxy(port) {
  const pairs = new Set();
  let target = port;
  let delayMs = 0;
  let isPaused = false;
  const server = createServer((near) => {
    const far = connect(target, "127.0.0.1");
    const pair = { near, far, waiting: [] };
    pairs.add(pair);
    for (const [from, to] of [
      [near, far],
      [far, near],
    ]) {
      from.on("data", (chunk) => pass(pair, () => to.write(chunk)));
      from.on("error", () => {});
      from.on("close", () => {
        pairs.delete(pair);
        to.destroy();
      });
    }
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");

  return {
    port: server.address().port,
    /** New connections lead there; those that exist are cut. */
    leadTo(elsewhere) {
      target = elsewhere;
      cut();
    },
    delay(ms) {
      delayMs = ms;
    },
    pause() {
      isPaused = true;
    },
    goOn() {
      isPaused = false;
      for (const pair of pairs) for (const go of pair.waiting.splice(0)) go();
    },
    cut,
    close() {
      server.close();
      cut();
    },
  };

  function pass(pair, go) {
    if (isPaused) pair.waiting.push(go);
    else if (delayMs > 0) setTimeout(go, delayMs);
    else go();
  }

  function cut() {
    for (const { near, far } of pairs) {
      near.destroy();
      far.destroy();
    }
    pairs.clear();
  }
}
