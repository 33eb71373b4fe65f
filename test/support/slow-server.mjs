// Answers that take long, for the test of the graceful stop. Ends as the examples do.
import { createServer } from "node:http";
import { setTimeout as pause } from "node:timers/promises";
import { closeGracefully, stopSignal } from "../../examples/express-login/dist/graceful-stop.js";

const routes = {
  "/quick": (response) => response.end("whole"),
  "/slow": async (response) => {
    await pause(3000);
    response.end("whole");
  },
  "/stream": async (response) => {
    for (const part of ["w", "h", "o", "l", "e"]) {
      response.write(part);
      await pause(600);
    }
    response.end();
  },
  // What an error handler does that begins anew.
  "/bare": (response) => {
    for (const name of response.getHeaderNames()) response.removeHeader(name);
    response.end("whole");
  },
  "/busy": (response) => {
    work(1500);
    response.end("whole");
  },
  "/costly": (response) => {
    work(60);
    response.end("whole");
  },
  "/never": (response) => void response.write("whole"),
};

const never = new Int32Array(new SharedArrayBuffer(4));

/** The process does nothing else meanwhile, as if it worked: it waits without its event loop. */
function work(forMs) {
  Atomics.wait(never, 0, 0, forMs);
}

const server = createServer((request, response) => void routes[request.url](response));
closeGracefully(server, stopSignal());
server.listen(0, "127.0.0.1", () => console.log(`Listening on port ${server.address().port}`));
