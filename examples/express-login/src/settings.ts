import { createHmac } from "node:crypto";
import { fileURLToPath } from "node:url";

/** What the application has to know about the service and about itself. */
export interface Settings {
  port: number;
  authUrl: string;
  /** A template: `{domain_prefix}` stands for the store. */
  baseUrl: string;
  clientId: string;
  clientSecret: string;
  /** Exactly as registered with the application, and a route of ours. */
  redirectUri: string;
  /** Signs the session cookie. */
  sessionSecret: string;
  /** Where tokens and sessions are kept. */
  databaseFile: string;
}

/** Reads the environment. Without any of it the sandbox on this machine is used. */
export function settingsFrom(env: NodeJS.ProcessEnv): Settings {
  const port = Number(env.PORT ?? 3000);
  const clientSecret = env.RETAIL_POS_CLIENT_SECRET ?? "sandbox-application-secret";
  return {
    port,
    authUrl: env.RETAIL_POS_AUTH_URL ?? "http://127.0.0.1:4010",
    baseUrl: env.RETAIL_POS_BASE_URL ?? "http://127.0.0.1:4010/stores/{domain_prefix}",
    clientId: env.RETAIL_POS_CLIENT_ID ?? "sandbox-application",
    clientSecret,
    redirectUri: env.RETAIL_POS_REDIRECT_URI ?? `http://localhost:${port}/auth/retail-pos/callback`,
    // Made from a secret there is already: a random one would log everybody out at each restart.
    sessionSecret: env.SESSION_SECRET ?? createHmac("sha256", clientSecret).update("sessions").digest("hex"),
    databaseFile: env.DATABASE_FILE ?? fileURLToPath(new URL("../data/login.sqlite", import.meta.url)),
  };
}
