import { createServer, type RequestListener } from "node:http";
import { type AddressInfo, createServer as createTcpServer } from "node:net";

export interface Listening {
  readonly port: number;
  readonly origin: string;
  close(): Promise<void>;
}

/** A thousand callers connect in one instant; past Node's own 511 the system may reset some of them. */
const BACKLOG = 4096;

/** Serves an application on a free port of this machine. */
export async function listen(app: RequestListener): Promise<Listening> {
  const server = createServer(app);
  await new Promise<void>((resolve) =>
    server.listen({ port: 0, host: "127.0.0.1", backlog: BACKLOG }, resolve),
  );
  const { port } = server.address() as AddressInfo;
  return {
    port,
    origin: `http://localhost:${port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/**
 * A port for a program that is told where to listen. Below those that systems hand out for port 0, because another test
 * could be given it before the program listens.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = 15_000 + Math.floor(Math.random() * 15_000);
    const probe = createTcpServer();
    const isFree = await new Promise<boolean>((resolve) => {
      probe.once("error", () => resolve(false));
      probe.listen(port, () => resolve(true));
    });
    if (!isFree) continue;
    await new Promise((resolve) => probe.close(resolve));
    return port;
  }
}
