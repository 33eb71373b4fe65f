import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

/** What every contestant is configured with. */
export const APPLICATION = {
  clientId: "the-application",
  clientSecret: "the-client-secret",
  redirectUri: "http://127.0.0.1/callback",
};

/**
 * Starts the token service as a process of its own.
 *
 * @param settings `delayMs` (100), `lifetimeMs` of access tokens (a day), `rotates` (true), `isDown` (false: answers
 *   503), `losesOneIn` (Infinity: of so many new refresh tokens one does not arrive).
 */
export async function tokenService(settings = {}) {
  const child = fork(fileURLToPath(new URL("./token-service.mjs", import.meta.url)));
  const [{ address }] = await once(child, "message");
  const service = tokenServiceAt(address);
  await service.configure(settings);
  return {
    ...service,
    async close() {
      child.disconnect();
      await once(child, "exit");
    },
  };
}

/** The same service as seen from another process, which is given its `address`. */
export function tokenServiceAt(address) {
  return {
    address,
    ...addressesBelow(address),
    configure: (settings) => steer("configure", settings),
    /** `[{ retailer, accessToken, refreshToken, expiresAt }]`, as of a login that took place before. */
    issue: (retailers, lifetimeMs) => steer("issue", { retailers, lifetimeMs }),
    /** For each access token `{ retailer, issuedAt, expiresAt }`, or `null` where it was never issued. */
    issued: (values) => steer("issued", values),
    /** Answers 429 for at least so long; resolves with `{ resetAt }`, a whole second. */
    limit: (forMs) => steer("limit", { forMs }),
    /** The process was killed `at` this moment that reached the service by the address of `as(name)`. */
    killed: (name, at) => steer("killed", { name, at }),
    /** The addresses that tell which process asks. */
    as: (name) => addressesBelow(`${address}/of/${name}`),
    /** `[{ retailer, lostBy }]`: whose refresh token nobody can have any more, until they are issued another one. */
    outside: () => steer("outside"),
    /**
     * Every token request since the last reset: `{ retailer, grant, status, isReused, at }`. `isReused`: its refresh
     * token had been replaced by one that was not lost.
     */
    log: () => steer("log"),
    reset: () => steer("reset"),
  };

  async function steer(name, argument) {
    const response = await fetch(`${address}/control/${name}`, {
      method: "POST",
      ...(argument !== undefined && { body: JSON.stringify(argument) }),
    });
    if (!response.ok) throw new Error(`The token service refused ${name}: ${response.status}`);
    return (await response.json()).result;
  }
}

/** `{base_url}` as a template, and the token endpoint of one retailer. */
function addressesBelow(address) {
  return {
    baseUrl: `${address}/{domain_prefix}`,
    tokenUrl: (retailer) => `${address}/${retailer}/api/1.0/token`,
  };
}

/** Throws unless the service issued every one of these bearers to the retailer it was handed out for, and it lives. */
export async function checkBearers(service, handedOut) {
  const now = Date.now();
  const known = await service.issued(handedOut.map(({ value }) => value));
  handedOut.forEach(({ retailer, value }, index) => {
    if (known[index]?.retailer !== retailer)
      throw new Error(`${JSON.stringify(value)} was never issued to ${retailer}`);
    if (known[index].expiresAt <= now) throw new Error(`${JSON.stringify(value)} had expired`);
  });
}
