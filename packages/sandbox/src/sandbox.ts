import { createServer, type Server } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import { openConsole } from "./console/console.js";
import { type Controls, newControls } from "./controls.js";
import { readOptions, type SandboxOptions } from "./options.js";
import { route } from "./service/routes.js";
import { newService } from "./service/service-state.js";
import type { NamedStore } from "./stores/demo-retailers.js";
import { newVisitor, type Visitor } from "./visitor.js";

/** A running sandbox: its addresses, and the controls. */
export interface Sandbox extends Controls {
  /** The console, for people. */
  readonly url: string;
  /** `{auth_url}`. */
  readonly authUrl: string;
  /** `{base_url}` as a template: `{domain_prefix}` is a path segment, or with `hostPerStore` the host's first label. */
  readonly baseUrl: string;
  /** The one registered application (2.1). */
  readonly application: Application;
  /** The stores there are. */
  readonly stores: readonly NamedStore[];
  /**
   * A person with a browser, for tests of an application's login. Approves for this store; default: the first one.
   *
   * @throws {TypeError} the store is unknown.
   */
  visitor(domainPrefix?: string): Visitor;
  /** How many connections were opened to it, the console's too. */
  readonly connectionsOpened: number;
  /** Ends the service and every connection, also those held open. May be called again. */
  close(): Promise<void>;
}

/** The application as it is registered with the service (2.1). */
export interface Application {
  /** Identifies the application. */
  readonly clientId: string;
  /** Sent to the token endpoint beside the client id; the one of now, after `changeClientSecret`. */
  readonly clientSecret: string;
  /** Where the callback goes; compared letter by letter. */
  readonly redirectUri: string;
}

/**
 * Starts the service of the spec on 127.0.0.1. Everything is in memory, and is forgotten when the sandbox is closed.
 *
 * @throws {TypeError} naming the option that is wrong.
 * @throws {Error} the port is in use.
 */
export async function startSandbox(options: SandboxOptions = {}): Promise<Sandbox> {
  const settings = readOptions(options);
  const server = settings.tls ? createTlsServer(settings.tls) : createServer();
  server.keepAliveTimeout = KEEP_ALIVE_MS;
  let connectionsOpened = 0;
  const open = new Set<Socket>();
  server.on("connection", (socket: Socket) => {
    connectionsOpened += 1;
    open.add(socket);
    socket.once("close", () => open.delete(socket));
  });
  // It listens before the service is made, because the service's addresses need the port. Nobody can call it yet.
  const service = newService(settings, await listen(server, settings.port));
  const controls = newControls(service);
  const pages = openConsole(service, controls);
  server.on("request", (request, response) => void route(service, pages, request, response));

  const { url, authUrl, baseUrl } = service.addresses;
  const { clientId, redirectUri, stores } = settings;
  const rest: Omit<Sandbox, keyof Controls> = {
    url,
    authUrl,
    baseUrl,
    application: {
      clientId,
      get clientSecret() {
        return settings.clientSecret;
      },
      redirectUri,
    },
    stores,
    visitor(domainPrefix = stores[0]?.domainPrefix ?? "") {
      service.retailers.get(domainPrefix); // throws for an unknown one
      return newVisitor(redirectUri, domainPrefix, (address, store) =>
        address.href.startsWith(`${authUrl}/connect`) ? controls.consent(address, store) : undefined,
      );
    },
    get connectionsOpened() {
      return connectionsOpened;
    },
    close: closing(server, open),
  };
  // Not spread into one object: that would call the getters, once and for all.
  return Object.defineProperties(controls, Object.getOwnPropertyDescriptors(rest)) as Sandbox;
}

/** As long as common proxies in front of a service; Node's own five seconds are shorter than a client's patience. */
const KEEP_ALIVE_MS = 75_000;

/** A thousand callers may connect in one instant; past Node's own 511 the system may reset some of them. */
const BACKLOG = 4096;

/** Answers the port. */
function listen(server: Server, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once("error", (cause: NodeJS.ErrnoException) => reject(listenError(cause, port)));
    server.listen({ port, host: "127.0.0.1", backlog: BACKLOG }, () =>
      resolve((server.address() as AddressInfo).port),
    );
  });
}

function listenError(cause: NodeJS.ErrnoException, port: number): Error {
  if (cause.code === "EADDRINUSE")
    return new Error(`Port ${port} is in use. Choose another, or 0 for any.`, { cause });
  return new Error(`The sandbox cannot listen on port ${port}: ${cause.message}`, { cause });
}

function closing(server: Server, open: ReadonlySet<Socket>): () => Promise<void> {
  let closed: Promise<void> | undefined;
  return () => {
    closed ??= new Promise((resolve) => {
      server.close(() => resolve());
      // Without this the faults that never answer would keep it open. Not closeAllConnections(), which does not know
      // those on which TLS has yet to begin.
      for (const socket of open) socket.destroy();
    });
    return closed;
  };
}
