import { fileURLToPath } from "node:url";
import { environment, type Service } from "./environment.js";

/** What the application has to know about the service and about itself. */
export interface Settings extends Service {
  port: number;
  /** The address to listen on. */
  host: string;
  /** Signs or seals the cookies of whoever logs in. */
  sessionSecret: string;
  /** Where everything is kept that outlives a restart. */
  databaseFile: string;
}

/**
 * Reads the environment. Without any of the service's settings the sandbox on this machine is used; an application that
 * people reach from elsewhere needs settings of its own.
 *
 * @throws {TypeError} naming every setting that is missing or wrong.
 */
export function settingsFrom(env: NodeJS.ProcessEnv): Settings {
  const from = environment(env);
  const port = from.port();
  const service = from.service(port);
  const settings = {
    ...service,
    port,
    host: from.host(),
    sessionSecret: from.sessionSecret(service),
    databaseFile:
      from.read("DATABASE_FILE") ?? fileURLToPath(new URL("../data/login.sqlite", import.meta.url)),
  };
  from.check();
  return settings;
}
