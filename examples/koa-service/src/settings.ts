import { randomBytes } from "node:crypto";

/** What the service has to know about the retail service and about itself. */
export interface Settings {
  port: number;
  /**
   * `login`: people log in with their store here. `gateway`: a gateway in front of us knows the store and
   * names it in `X-Store`; no login page is ever shown.
   */
  mode: "login" | "gateway";
  authUrl: string;
  /** A template: `{domain_prefix}` stands for the store. */
  baseUrl: string;
  clientId: string;
  clientSecret: string;
  /** Exactly as registered with the application, and a route of ours. */
  redirectUri: string;
  /** Signs the session cookie. */
  sessionKey: string;
}

/** Reads the environment. Without any of it the sandbox on this machine is used. */
export function settingsFrom(env: NodeJS.ProcessEnv): Settings {
  const port = Number(env.PORT ?? 3000);
  return {
    port,
    mode: env.MODE === "gateway" ? "gateway" : "login",
    authUrl: env.RETAIL_POS_AUTH_URL ?? "http://127.0.0.1:4010",
    baseUrl: env.RETAIL_POS_BASE_URL ?? "http://127.0.0.1:4010/stores/{domain_prefix}",
    clientId: env.RETAIL_POS_CLIENT_ID ?? "sandbox-application",
    clientSecret: env.RETAIL_POS_CLIENT_SECRET ?? "sandbox-application-secret",
    redirectUri: env.RETAIL_POS_REDIRECT_URI ?? `http://localhost:${port}/auth/retail-pos/callback`,
    sessionKey: env.SESSION_KEY ?? randomBytes(32).toString("hex"), // a restart logs everybody out
  };
}
