// The API of every store, in a process of its own; it counts connections. Announces nothing about them.
import { createServer } from "node:http";
import { commanded } from "../../lib/process.mjs";

const BODY = JSON.stringify({ data: [{ id: "espresso", name: "House espresso, 250 g" }] });
const counts = { opened: 0, underWay: 0, most: 0 };
let server;

commanded({
  async start({ keepAliveMs, delayMs = 0 }) {
    server = createServer({ keepAliveTimeout: keepAliveMs }, (_request, response) => {
      counts.underWay += 1;
      counts.most = Math.max(counts.most, counts.underWay);
      const connection = "keep-alive"; // given: no Keep-Alive header
      const answer = () => {
        counts.underWay -= 1;
        response.writeHead(200, { "content-type": "application/json", connection }).end(BODY);
      };
      if (delayMs > 0) setTimeout(answer, delayMs);
      else answer();
    });
    server.on("connection", () => {
      counts.opened += 1;
    });
    await new Promise((resolve) => server.listen(0, "127.0.0.1", 4096, resolve));
  },
  port: () => server.address().port,
  /** Since it was asked last. */
  counted() {
    const counted = { ...counts };
    Object.assign(counts, { opened: 0, underWay: counts.underWay, most: 0 });
    return counted;
  },
});
