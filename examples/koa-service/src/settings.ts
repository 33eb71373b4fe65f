import { randomBytes } from "node:crypto";
import { type Settings as ServiceSettings, settingsFromEnv } from "@retail-pos/core";

/** What the service has to know about the retail service and about itself. */
export interface Settings extends ServiceSettings {
  port: number;
  /**
   * `login`: people log in with their store here. `gateway`: a gateway in front of us knows the store and
   * names it in `X-Store`; no login page is ever shown.
   */
  mode: "login" | "gateway";
  /** Exactly as registered with the application, and a route of ours. */
  redirectUri: string;
  /** Signs the session cookie. */
  sessionKey: string;
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
  const mode = env.MODE === "gateway" ? "gateway" : "login";
  const isForTrying = isOnThisMachine(redirectUri);
  if (!isForTrying) refuseKnownSecrets(env, mode === "login");
  const service = settingsFromEnv({
    ...(isForTrying && SANDBOX),
    ...env,
    RETAIL_POS_REDIRECT_URI: redirectUri,
  });
  return {
    ...service,
    port,
    mode,
    redirectUri,
    sessionKey: env.SESSION_KEY ?? randomBytes(32).toString("hex"), // a restart logs everybody out
  };
}

function isOnThisMachine(address: string): boolean {
  const hostname = URL.canParse(address) ? new URL(address).hostname : "";
  return /^(localhost|.+\.localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname);
}

/** Everybody knows the sandbox's, and could log in here as any store. */
function refuseKnownSecrets(env: NodeJS.ProcessEnv, needsKey: boolean): void {
  const { SESSION_KEY = "", RETAIL_POS_CLIENT_SECRET } = env;
  const known = (["RETAIL_POS_CLIENT_ID", "RETAIL_POS_CLIENT_SECRET"] as const).filter(
    (name) => env[name] === SANDBOX[name],
  );
  const problems = known.map((name) => `${name} is the sandbox's`);
  if (needsKey && SESSION_KEY.length < 32) problems.push("SESSION_KEY must be 32 characters or more");
  if (SESSION_KEY !== "" && SESSION_KEY === RETAIL_POS_CLIENT_SECRET)
    problems.push("SESSION_KEY must not be the client secret");
  if (problems.length > 0)
    throw new TypeError(`RETAIL_POS_REDIRECT_URI is not on this machine, and ${problems.join("; ")}`);
}
