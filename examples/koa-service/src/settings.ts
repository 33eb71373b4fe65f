import { fileURLToPath } from "node:url";
import { environment, type Service } from "./environment.js";

/** What the program has to know about the service and about itself. */
export interface Settings extends Service {
  port: number;
  /** The address to listen on. */
  host: string;
  /** How many proxies in front of us are believed: the last of them ends TLS. */
  trustProxy: number;
  /**
   * Who says which retailer a request is for. `login`: people log in with their store here. `gateway`: a gateway in
   * front of us knows the store and names it in `X-Store`; no login page is ever shown.
   */
  retailerFrom: "login" | "gateway";
  /** Signs the session cookie; there is none behind a gateway. */
  sessionSecret: string;
  /** Where tokens are kept. */
  databaseFile: string;
}

/**
 * Reads the environment. Without any of the service's settings the sandbox on this machine is used; a program that
 * people reach from elsewhere needs settings of its own.
 *
 * @throws {TypeError} naming every setting that is missing or wrong.
 */
export function settingsFrom(env: NodeJS.ProcessEnv): Settings {
  const from = environment(env);
  const port = from.port();
  const service = from.service(port);
  const retailerFrom = from.oneOf("RETAILER_FROM", ["login", "gateway"]);
  const settings = {
    ...service,
    port,
    // Whoever reaches us behind a gateway can be any store: see namedByGateway().
    host: retailerFrom === "gateway" ? "127.0.0.1" : from.host(),
    trustProxy: from.trustProxy(service),
    retailerFrom,
    sessionSecret: retailerFrom === "gateway" ? "" : from.sessionSecret(service),
    databaseFile:
      from.read("DATABASE_FILE") ?? fileURLToPath(new URL("../data/login.sqlite", import.meta.url)),
  };
  from.check();
  return settings;
}
