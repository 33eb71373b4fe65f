// The token endpoint of a history: every refresh rotates, a spent refresh token is refused, and nothing is forgotten.
import { once } from "node:events";
import { createServer } from "node:http";

/** How long an access token lives, seconds. */
const LIFETIME_S = 2;

/** @returns its base URL as a template, and what it issued. */
export async function startService() {
  /** By retailer: the refresh tokens in the order in which they were issued; the last is the one that counts. */
  const issued = new Map();
  /** By retailer: the process that the last was issued to, which says its number as its `User-Agent`. */
  const holders = new Map();
  const server = createServer(async (request, response) => {
    const retailer = request.url.split("/")[1];
    let body = "";
    for await (const chunk of request) body += chunk;
    const refreshToken = new URLSearchParams(body).get("refresh_token");
    const isGood = issued.get(retailer)?.at(-1) === refreshToken;
    response.writeHead(isGood ? 200 : 400, { "content-type": "application/json" });
    if (isGood) holders.set(retailer, Number(request.headers["user-agent"]));
    response.end(JSON.stringify(isGood ? issue(retailer) : { error: "invalid_grant" }));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");

  return {
    baseUrl: `http://127.0.0.1:${server.address().port}/{domain_prefix}`,
    issue,
    issued,
    holders,
    close: () => server.close(),
  };

  function issue(retailer) {
    const all = issued.get(retailer) ?? [];
    issued.set(retailer, all);
    const number = all.length + 1;
    all.push(`refresh-${retailer}-${number}`);
    return {
      access_token: `access-${retailer}-${number}`,
      token_type: "Bearer",
      expires_in: LIFETIME_S,
      refresh_token: all.at(-1),
    };
  }
}
