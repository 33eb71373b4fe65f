import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";

/** Where the connection breaks: what the server sees of the next command, and what comes back. */
export type Cut = "before the command arrives" | "in the middle of the command" | "before the answer arrives";

/** A way to a Redis that can be cut. */
export interface Wire {
  readonly url: string;
  /** The next command, and its connection, ends like this; what comes after goes through. */
  cutNext(how: Cut): void;
  /** New connections go there; those that are open stay, as behind a name that leads elsewhere after a failover. */
  leadTo(target: string): void;
  close(): void;
}

export async function wireTo(target: string): Promise<Wire> {
  let leads = new URL(target);
  let next: Cut | undefined;
  const open = new Set<Socket>();
  const server = createServer((client) => {
    const redis = connect(Number(leads.port || 6379), leads.hostname);
    let isMute = false;
    const end = () => {
      client.destroy();
      redis.destroy();
    };
    for (const socket of [client, redis]) {
      open.add(socket);
      socket.on("error", end).on("close", () => {
        open.delete(socket);
        end();
      });
    }
    client.on("data", (chunk) => {
      const how = next;
      next = undefined;
      if (how === undefined) redis.write(chunk);
      else if (how === "before the command arrives") end();
      else if (how === "in the middle of the command") redis.end(chunk.subarray(0, chunk.length / 2));
      else {
        isMute = true;
        redis.write(chunk);
      }
    });
    redis.on("data", (chunk) => (isMute ? end() : client.write(chunk)));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = new URL(target);
  url.hostname = "127.0.0.1";
  url.port = String((server.address() as { port: number }).port);
  return {
    url: url.href,
    cutNext(how) {
      next = how;
    },
    leadTo(target) {
      leads = new URL(target);
    },
    close() {
      server.close();
      for (const socket of open) socket.destroy();
    },
  };
}
