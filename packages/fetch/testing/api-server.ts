import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";

/** A server that counts what reaches it. */
export interface ApiServer {
  readonly origin: string;
  /** Connections that were opened, in all. */
  readonly connections: number;
  /** Those of them that are open. */
  readonly open: number;
  readonly sockets: ReadonlySet<Socket>;
  /** Requests that are being answered. */
  readonly underWay: number;
  /** The most of them at once. */
  readonly most: number;
  /** The path and query of each request, in the order in which they came. */
  readonly came: readonly string[];
  close(): Promise<void>;
}

/** Keeps idle connections for longer than any client does, unless told otherwise. */
export async function apiServer(
  answer: (request: IncomingMessage, response: ServerResponse) => void,
  { keepAliveTimeout = 600_000 } = {},
): Promise<ApiServer> {
  const counts = { connections: 0, underWay: 0, most: 0 };
  const came: string[] = [];
  const sockets = new Set<Socket>();
  const server = createServer({ keepAliveTimeout }, (request, response) => {
    came.push(request.url ?? "");
    counts.underWay += 1;
    counts.most = Math.max(counts.most, counts.underWay);
    response.once("close", () => {
      counts.underWay -= 1;
    });
    answer(request, response);
  });
  server.on("connection", (socket) => {
    counts.connections += 1;
    sockets.add(socket);
    socket.once("close", () => void sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", 4096, resolve));
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    origin,
    came,
    sockets,
    get connections() {
      return counts.connections;
    },
    get open() {
      return sockets.size;
    },
    get underWay() {
      return counts.underWay;
    },
    get most() {
      return counts.most;
    },
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
