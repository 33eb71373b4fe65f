import { setTimeout as sleep } from "node:timers/promises";

/** A token request by hand. Resolves with what is kept of the answer. */
export async function refresh({ tokenUrl, clientId, clientSecret }, retailer, refreshToken) {
  const response = await fetch(tokenUrl(retailer), {
    method: "POST",
    body: new URLSearchParams({
      grant_type: "refresh_token",
      refresh_token: refreshToken,
      client_id: clientId,
      client_secret: clientSecret,
    }),
  });
  if (response.ok) return kept(await response.json(), refreshToken);
  await response.body?.cancel();
  const { status, headers } = response;
  const resetAt = status === 429 ? 1000 * Number(headers.get("x-ratelimit-reset")) : 0;
  throw Object.assign(new Error(`The token endpoint answered ${status}`), { status, resetAt });
}

const TRIES = 6;
let limitedUntil = 0;

/**
 * Tries again what failed by no fault of the refresh token; everybody waits while the service limits the application.
 * Processes that waited together do not go on together.
 *
 * @param renew reads the kept tokens again: another process may have renewed them.
 */
export async function patiently(renew) {
  for (let tried = 1; ; tried += 1) {
    try {
      return await renew();
    } catch (error) {
      const isPassing = error.status === 429 || error.status >= 500;
      if (!isPassing || tried === TRIES) throw error;
      const waitMs = Math.max(500 * tried, (error.resetAt ?? 0) - Date.now());
      await sleep(waitMs + 1000 * tried * Math.random());
    }
  }
}

/** `refresh`, but not while the service limits the application. */
export async function refreshWithinLimit(application, retailer, refreshToken) {
  if (Date.now() < limitedUntil) throw limited();
  try {
    return await refresh(application, retailer, refreshToken);
  } catch (error) {
    limitedUntil = Math.max(limitedUntil, error.resetAt ?? 0);
    throw error;
  }
}

function limited() {
  return Object.assign(new Error("The token endpoint limits us"), { status: 429, resetAt: limitedUntil });
}

/** @param answer a token response of RFC 6749, section 5.1. */
export function kept({ access_token, refresh_token, expires_in }, refreshToken) {
  return {
    accessToken: access_token,
    refreshToken: refresh_token ?? refreshToken,
    expiresAt: Date.now() + expires_in * 1000,
  };
}
