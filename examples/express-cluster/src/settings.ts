/** What the application has to know about the service, about itself, and about what its processes share. */
export interface Settings {
  port: number;
  workers: number;
  /** Where tokens and sessions are kept. */
  engine: "redis" | "postgres";
  engineUrl: string;
  /** Begins the name of every key or table. Two applications on one engine need two. */
  namespace: string;
  authUrl: string;
  /** A template: `{domain_prefix}` stands for the store. */
  baseUrl: string;
  clientId: string;
  clientSecret: string;
  /** Exactly as registered with the application, and a route of ours. */
  redirectUri: string;
  sessionSecret: string;
  /** Where the sandbox is; absent where the service is the real one. */
  sandboxUrl?: string;
}

/** Everybody knows these. */
const SANDBOX = {
  clientId: "sandbox-application",
  clientSecret: "sandbox-application-secret",
  sessionSecret: "sandbox-session-secret",
};

/**
 * Reads the environment. Without any `RETAIL_POS_` variable the sandbox on this machine is used; for any
 * service that is not on this machine, or people who are not, every address and every secret has to be given.
 */
export function settingsFrom(env: NodeJS.ProcessEnv): Settings {
  const port = wholeNumber(env, "PORT", 3000, 0);
  const authUrl = env.RETAIL_POS_AUTH_URL || "http://127.0.0.1:4010";
  if (!URL.canParse(authUrl)) throw new Error(`RETAIL_POS_AUTH_URL must be an address, not "${authUrl}"`);
  const sandboxUrl = isOnThisMachine(authUrl) ? new URL(authUrl).origin : undefined;

  const missing: string[] = [];
  const given = (name: string, atSandbox: string): string => {
    const value = env[name] || (sandboxUrl ? atSandbox : "");
    if (!value) missing.push(name);
    return value;
  };
  const service = {
    authUrl,
    baseUrl: given("RETAIL_POS_BASE_URL", `${sandboxUrl}/stores/{domain_prefix}`),
    clientId: given("RETAIL_POS_CLIENT_ID", SANDBOX.clientId),
    clientSecret: given("RETAIL_POS_CLIENT_SECRET", SANDBOX.clientSecret),
    redirectUri: given("RETAIL_POS_REDIRECT_URI", `http://localhost:${port}/auth/retail-pos/callback`),
    sessionSecret: given("SESSION_SECRET", SANDBOX.sessionSecret), // every process needs the same
  };
  if (missing.length > 0) throw new Error(`${missing.join(", ")} must be set: ${authUrl} is no sandbox`);
  if (!isOnThisMachine(service.redirectUri)) refuseKnownSecrets(service);

  return {
    port,
    workers: wholeNumber(env, "WORKERS", 4, 1),
    ...engineFrom(env),
    ...service,
    ...(sandboxUrl && { sandboxUrl }),
  };
}

/** Whoever knows them could log in here as any store. */
function refuseKnownSecrets(given: Pick<Settings, "clientId" | "clientSecret" | "sessionSecret">): void {
  const { clientId, clientSecret, sessionSecret } = given;
  const problems: string[] = [];
  if (clientId === SANDBOX.clientId) problems.push("RETAIL_POS_CLIENT_ID is the sandbox's");
  if (clientSecret === SANDBOX.clientSecret) problems.push("RETAIL_POS_CLIENT_SECRET is the sandbox's");
  if (sessionSecret === SANDBOX.sessionSecret) problems.push("SESSION_SECRET is the sandbox's");
  if (sessionSecret.length < 32) problems.push("SESSION_SECRET must be 32 characters or more");
  if (sessionSecret === clientSecret) problems.push("SESSION_SECRET must not be the client secret");
  if (problems.length > 0)
    throw new Error(`RETAIL_POS_REDIRECT_URI is not on this machine, and ${problems.join("; ")}`);
}

function engineFrom(env: NodeJS.ProcessEnv): Pick<Settings, "engine" | "engineUrl" | "namespace"> {
  const namespace = env.NAMESPACE || "express_cluster";
  if (!/^[a-z_][a-z0-9_]{0,39}$/.test(namespace)) {
    throw new Error(
      "NAMESPACE must be of lower-case letters, digits and _, at most 40, and begin with no digit",
    );
  }
  switch (env.STORE) {
    case "redis":
      return { engine: "redis", engineUrl: env.REDIS_URL || "redis://127.0.0.1:6379", namespace };
    case "postgres": {
      const engineUrl = env.DATABASE_URL || "postgresql://postgres@127.0.0.1:5432/postgres";
      return { engine: "postgres", engineUrl, namespace };
    }
    default: {
      const found = env.STORE ? `not "${env.STORE}"` : "and is not set";
      throw new Error(
        `STORE must be redis or postgres, ${found}: several processes have to share their tokens`,
      );
    }
  }
}

/** The sandbox listens on the loopback address only, and the service never does. */
function isOnThisMachine(url: string): boolean {
  return URL.canParse(url) && ["127.0.0.1", "localhost", "[::1]"].includes(new URL(url).hostname);
}

function wholeNumber(env: NodeJS.ProcessEnv, name: string, otherwise: number, least: number): number {
  const value = env[name] ? Number(env[name]) : otherwise;
  if (!Number.isInteger(value) || value < least || value > 65_535) {
    throw new Error(`${name} must be a whole number from ${least}, not "${env[name]}"`);
  }
  return value;
}
