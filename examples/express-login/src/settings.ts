import { createHmac } from "node:crypto";
import { fileURLToPath } from "node:url";
import { type Settings as ServiceSettings, settingsFromEnv } from "@retail-pos/core";

/** What the application has to know about the service and about itself. */
export interface Settings extends ServiceSettings {
  port: number;
  /** Exactly as registered with the application, and a route of ours. */
  redirectUri: string;
  /** Signs the session cookie. */
  sessionSecret: string;
  /** Where tokens and sessions are kept. */
  databaseFile: string;
}

/** The application that the sandbox knows, and where the sandbox listens. */
const SANDBOX = {
  RETAIL_POS_AUTH_URL: "http://127.0.0.1:4010",
  RETAIL_POS_BASE_URL: "http://127.0.0.1:4010/stores/{domain_prefix}",
  RETAIL_POS_CLIENT_ID: "sandbox-application",
  RETAIL_POS_CLIENT_SECRET: "sandbox-application-secret",
};

/**
 * Reads the environment. Without any of it the sandbox on this machine is used; an application that people reach from
 * elsewhere needs settings of its own.
 *
 * @throws {TypeError} naming the variables that are missing or wrong.
 */
export function settingsFrom(env: NodeJS.ProcessEnv): Settings {
  const port = Number(env.PORT ?? 3000);
  const redirectUri = env.RETAIL_POS_REDIRECT_URI ?? `http://localhost:${port}/auth/retail-pos/callback`;
  const isForTrying = isOnThisMachine(redirectUri);
  if (!isForTrying) refuseKnownSecrets(env);
  const service = settingsFromEnv({
    ...(isForTrying && SANDBOX),
    ...env,
    RETAIL_POS_REDIRECT_URI: redirectUri,
  });
  return {
    ...service,
    port,
    redirectUri,
    // Made from a secret there is already: a random one would log everybody out at each restart.
    sessionSecret:
      env.SESSION_SECRET ?? createHmac("sha256", service.clientSecret).update("sessions").digest("hex"),
    databaseFile: env.DATABASE_FILE ?? fileURLToPath(new URL("../data/login.sqlite", import.meta.url)),
  };
}

function isOnThisMachine(address: string): boolean {
  const hostname = URL.canParse(address) ? new URL(address).hostname : "";
  return /^(localhost|.+\.localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname);
}

/** Everybody knows the sandbox's, and could log in here as any store. */
function refuseKnownSecrets(env: NodeJS.ProcessEnv): void {
  const { SESSION_SECRET = "", RETAIL_POS_CLIENT_SECRET } = env;
  const known = (["RETAIL_POS_CLIENT_ID", "RETAIL_POS_CLIENT_SECRET"] as const).filter(
    (name) => env[name] === SANDBOX[name],
  );
  const problems = known.map((name) => `${name} is the sandbox's`);
  if (SESSION_SECRET.length < 32) problems.push("SESSION_SECRET must be 32 characters or more");
  if (SESSION_SECRET !== "" && SESSION_SECRET === RETAIL_POS_CLIENT_SECRET)
    problems.push("SESSION_SECRET must not be the client secret");
  if (problems.length > 0)
    throw new TypeError(`RETAIL_POS_REDIRECT_URI is not on this machine, and ${problems.join("; ")}`);
}
