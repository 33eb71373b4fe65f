import { fileURLToPath } from "node:url";
import type { SealingKey } from "@retail-pos/sealed-store";
import { environment, type Service } from "./environment.js";

/** What the application has to know about the service and about itself. */
export interface Settings extends Service {
  port: number;
  /** The address to listen on. */
  host: string;
  /** How many proxies in front of us are believed: the last of them ends TLS. */
  trustProxy: number;
  /** Signs the cookies of whoever logs in. */
  sessionSecret: string;
  /** Where everything is kept that outlives a restart, unless there is a `databaseUrl`. */
  databaseFile: string;
  /** A PostgreSQL to keep it in instead. */
  databaseUrl: string | undefined;
  /** Seal the tokens that are kept, the first of them; all of them open. Without any, tokens are kept as they are. */
  tokenKeys: readonly SealingKey[] | undefined;
  /** From how many stores at a time the nightly job pulls. */
  storesAtOnce: number;
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
  const databaseUrl = from.read("DATABASE_URL");
  if (databaseUrl !== undefined && !/^postgres(ql)?:\/\//.test(databaseUrl))
    from.note("DATABASE_URL", "must begin with postgresql://");
  const tokenKeys = from.read("TOKEN_KEYS")?.split(",").map(keyOf);
  if (tokenKeys?.includes(undefined))
    from.note("TOKEN_KEYS", "must be <id>:<32 bytes in base64>, or several of them with commas between");
  const settings = {
    ...service,
    port,
    host: from.host(),
    trustProxy: from.trustProxy(service),
    sessionSecret: from.sessionSecret(service),
    databaseFile:
      from.read("DATABASE_FILE") ?? fileURLToPath(new URL("../data/login.sqlite", import.meta.url)),
    databaseUrl,
    tokenKeys: tokenKeys?.filter((key) => key !== undefined),
    storesAtOnce: from.wholeNumber("STORES_AT_ONCE", 4, 1, 100),
  };
  from.check();
  return settings;
}

function keyOf(text: string): SealingKey | undefined {
  const [, id, secret] = /^([\w.-]{1,100}):([\w+/-]{43}=?)$/.exec(text.trim()) ?? [];
  return id !== undefined && secret !== undefined ? { id, secret } : undefined;
}
