/** What is needed of a client of `ioredis`: a `Redis` or a `Cluster`. */
export interface IoRedisClient {
  /** Runs a Lua script. */
  eval(script: string, numberOfKeys: number, ...keysAndArguments: string[]): Promise<unknown>;
  /** Not called: it tells this library from the other. */
  readonly evalsha: unknown;
}

/** What is needed of a client of `redis` (node-redis): from `createClient`, `createCluster` and their like. */
export interface NodeRedisClient {
  /** Runs a Lua script. */
  eval(script: string, options: { keys: string[]; arguments: string[] }): Promise<unknown>;
  /** Not called: it tells this library from the other. */
  readonly evalSha: unknown;
}

/** A connected client. It is only used, never configured and never closed. */
export type RedisClient = IoRedisClient | NodeRedisClient;

/**
 * Runs a Lua script on one key. Everything goes through scripts, loading too: a client that sends reads to
 * replicas sends scripts to the primary, and a replica may lag behind by exactly the rotated refresh token.
 *
 * @param doing completes "Redis could not ...", for the error.
 * @param secrets what the error must not show.
 */
export type Run = (
  doing: string,
  script: string,
  key: string,
  values?: string[],
  secrets?: string[],
) => Promise<unknown>;

/** @throws {TypeError} when `client` is a client of neither library. */
export function runner(client: RedisClient): Run {
  const evaluate = evaluatorOf(client);
  return async (doing, script, key, values = [], secrets = []) => {
    try {
      return await evaluate(script, key, values);
    } catch (error) {
      throw withoutArguments(doing, error, secrets);
    }
  };
}

function evaluatorOf(
  client: RedisClient,
): (script: string, key: string, values: string[]) => Promise<unknown> {
  if (typeof client?.eval === "function") {
    if ("evalSha" in client)
      return (script, key, values) => client.eval(script, { keys: [key], arguments: values });
    if ("evalsha" in client) return (script, key, values) => client.eval(script, 1, key, ...values);
  }
  throw new TypeError("client must be a client of ioredis or of redis (node-redis)");
}

/**
 * The clients put the command with all its arguments, tokens among them, on the errors they throw, and a
 * server that does not know a command repeats the first of them: what is passed on is a new error.
 */
function withoutArguments(doing: string, error: unknown, secrets: readonly string[]): Error {
  const { name, message, code } = Object(error) as { name?: unknown; message?: unknown; code?: unknown };
  const reason = String(message || code || name || "unknown error").replace(
    /, with args beginning with.*/s,
    "",
  );
  const cleaned = secrets.reduce((text, secret) => text.replaceAll(secret || "\0", "[hidden]"), reason);
  const failure = new Error(`Redis could not ${doing}: ${cleaned}`);
  return typeof code === "string" ? Object.assign(failure, { code }) : failure;
}

/** A text of an answer: some clients are set up to give bytes. */
export function textOf(reply: unknown): string {
  return Buffer.isBuffer(reply) ? reply.toString("utf8") : String(reply);
}

/** Whether a script answered 1: some clients are set up to give numbers as text. */
export function isYes(reply: unknown): boolean {
  return textOf(reply) === "1";
}
