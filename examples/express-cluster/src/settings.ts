import { environment, type Service } from "./environment.js";

/** What the application has to know about the service, about itself, and about what its processes share. */
export interface Settings extends Service, EngineSettings {
  authUrl: string;
  port: number;
  /** The address to listen on. */
  host: string;
  workers: number;
  /** How many proxies in front of us are believed: the last of them ends TLS. */
  trustProxy: number;
  /** Signs the session cookie; every process needs the same. */
  sessionSecret: string;
  /** Where the sandbox is; absent where the service is the real one. */
  sandboxUrl?: string;
}

/** Where tokens and sessions are kept. */
interface EngineSettings {
  engine: "redis" | "postgres";
  engineUrl: string;
  /** Begins the name of every key or table. Two applications on one engine need two. */
  namespace: string;
}

type Environment = ReturnType<typeof environment>;

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
  const { authUrl = "" } = service;
  const settings = {
    ...service,
    ...engineFrom(from),
    authUrl,
    port,
    host: from.host(),
    workers: from.wholeNumber("WORKERS", 4, 1, 1000),
    trustProxy: from.trustProxy(service),
    sessionSecret: from.sessionSecret(service),
    ...(isOnThisMachine(authUrl) && { sandboxUrl: new URL(authUrl).origin }),
  };
  from.check();
  return settings;
}

function engineFrom({ read, note, oneOf }: Environment): EngineSettings {
  const namespace = read("NAMESPACE") ?? "express_cluster";
  if (!/^[a-z_][a-z0-9_]{0,39}$/.test(namespace))
    note("NAMESPACE", "must be of lower-case letters, digits and _, at most 40, and begin with no digit");
  if (!read("STORE"))
    note("STORE", "is missing: redis or postgres, because the processes share their tokens");
  const engine = oneOf("STORE", ["redis", "postgres"]);
  const engineUrl =
    engine === "redis"
      ? (read("REDIS_URL") ?? "redis://127.0.0.1:6379")
      : (read("DATABASE_URL") ?? "postgresql://postgres@127.0.0.1:5432/postgres");
  return { engine, engineUrl, namespace };
}

/** The sandbox listens on the loopback address only, and the service never does. */
function isOnThisMachine(url: string): boolean {
  return URL.canParse(url) && ["127.0.0.1", "localhost", "[::1]"].includes(new URL(url).hostname);
}
