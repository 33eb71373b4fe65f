// The token endpoint of every retailer, as a process of its own: no framework, nothing but what is measured
// against. Started by `tokenService()`; steered through `/control/<name>`.
import { createHash, randomBytes } from "node:crypto";
import { createServer } from "node:http";

let settings = { delayMs: 100, lifetimeMs: 86_400_000, rotates: true, isDown: false, losesOneIn: Infinity };
/** What was ever issued: access token -> { retailer, issuedAt, expiresAt, replacedAt }. */
const issued = new Map();
/**
 * The last access token of each retailer. It stays good: `replacedAt` tells when a service that revokes would end it.
 */
const latest = new Map();
/** Spent by use: refresh token or code -> retailer. */
const grants = new Map();
const spent = new Set();
/**
 * Of each retailer's last refresh token: `{ number, askedBy, sentAt, lostBy, isMissed }`. `lostBy` names what kept it
 * from everybody; it is missed once somebody asks in vain with the one before.
 */
const chains = new Map();
/** Somebody may still be saving it. */
const SAVED_WITHIN_MS = 2000;
/** Every token request since the last reset. */
let log = [];
let blockedUntil = 0;

const control = {
  configure: (changes) => {
    settings = { ...settings, ...changes };
  },
  /** Tokens of a login that took place before. `lifetimeMs` may be negative: expired already. */
  issue: ({ retailers, lifetimeMs = settings.lifetimeMs }) =>
    retailers.map((retailer) => {
      const { accessToken, expiresAt } = newAccess(retailer, lifetimeMs);
      return { retailer, accessToken, refreshToken: newGrant(retailer), expiresAt };
    }),
  /** What is known of these access tokens; `null` for what was never issued. */
  issued: (values) => values.map((value) => issued.get(value) ?? null),
  /** 429 from now on. The header knows whole seconds, so it ends with the second in which `forMs` ends. */
  limit: ({ forMs }) => {
    blockedUntil = Math.ceil((Date.now() + forMs) / 1000) * 1000;
    return { resetAt: blockedUntil };
  },
  /** What the process has not got yet, or got within the last second, may not have been saved. */
  killed: ({ name, at }) => {
    for (const chain of chains.values())
      if (chain.askedBy === name && !(chain.sentAt < at - 1000)) chain.lostBy ??= "a kill";
  },
  /** `[{ retailer, lostBy }]`: whose last refresh token is lost and missed. */
  outside: () =>
    [...chains].flatMap(([retailer, { sentAt, lostBy, isMissed }]) =>
      lostBy && isMissed && Date.now() > sentAt + SAVED_WITHIN_MS ? [{ retailer, lostBy }] : [],
    ),
  log: () => log,
  reset: () => {
    log = [];
    blockedUntil = 0;
  },
};

const server = createServer({ keepAliveTimeout: 60_000 }, (req, res) => {
  let body = "";
  req.setEncoding("utf8").on("data", (text) => {
    body += text;
  });
  req.on("end", () => {
    const [, ...path] = req.url.split("/");
    const askedBy = path[0] === "of" ? path.splice(0, 2)[1] : undefined;
    const [first, ...rest] = path;
    if (first === "control") steer(rest[0], body, res);
    else if (req.method === "POST" && rest.join("/") === "api/1.0/token") token(first, body, res, askedBy);
    else answer(res, 404, { error: "not_found" });
  });
});
server.listen({ port: 0, host: "127.0.0.1", backlog: 8192 }, () => {
  process.send({ address: `http://127.0.0.1:${server.address().port}` });
});
process.once("disconnect", () => process.exit());

function steer(name, body, res) {
  const result = control[name](body === "" ? undefined : JSON.parse(body));
  answer(res, 200, { result: result ?? null });
}

function token(retailer, body, res, askedBy) {
  const form = new URLSearchParams(body);
  const [status, fields] = decide(retailer, form);
  const isReused = status === 400 && spent.has(form.get("refresh_token")) && !chains.get(retailer).lostBy;
  log.push({ retailer, grant: form.get("grant_type"), status, isReused, at: Date.now() });
  const chain = status === 200 ? chains.get(retailer) : {};
  if (status === 200 && losesAnswer(retailer, chain)) chain.lostBy = "a lost answer";
  Object.assign(chain, { askedBy });
  const reply = () => {
    chain.sentAt = Date.now();
    if (chain.lostBy === "a lost answer") res.destroy();
    else answer(res, status, fields);
  };
  if (settings.delayMs > 0) setTimeout(reply, settings.delayMs);
  else reply();
}

/** Decided when the request arrives: of two that spend one refresh token, the first has it. */
function decide(retailer, form) {
  if (settings.isDown) return [503, { error: "temporarily_unavailable" }];
  if (Date.now() < blockedUntil) return [429, { error: "slow_down" }];
  if (form.get("client_secret") !== "the-client-secret") return [401, { error: "invalid_client" }];
  const isRefresh = form.get("grant_type") === "refresh_token";
  const grant = form.get(isRefresh ? "refresh_token" : "code");
  if (grants.get(grant) !== retailer) {
    if (chains.has(retailer)) chains.get(retailer).isMissed = true;
    return [400, { error: "invalid_grant" }];
  }
  if (settings.rotates || !isRefresh) {
    grants.delete(grant);
    spent.add(grant);
  }
  const { accessToken, expiresAt } = newAccess(retailer, settings.lifetimeMs);
  return [
    200,
    {
      access_token: accessToken,
      token_type: "Bearer",
      expires_in: settings.lifetimeMs / 1000,
      expires: Math.floor(expiresAt / 1000),
      ...((settings.rotates || !isRefresh) && { refresh_token: newGrant(retailer) }),
      domain_prefix: retailer,
    },
  ];
}

/** The same renewals of the same retailers are lost for everybody. */
function losesAnswer(retailer, { number }) {
  const name = `${retailer.replace(/^.*(?=store-)/, "")} ${number}`;
  return createHash("sha256").update(name).digest().readUInt32BE() % settings.losesOneIn === 0;
}

function answer(res, status, fields) {
  const body = JSON.stringify(fields);
  const now = Date.now();
  res.writeHead(status, {
    "content-type": "application/json",
    "content-length": Buffer.byteLength(body),
    "x-ratelimit-limit": 1000,
    "x-ratelimit-remaining": status === 429 ? 0 : 999,
    "x-ratelimit-reset": Math.ceil(Math.max(blockedUntil, now) / 1000),
  });
  res.end(body);
}

function newAccess(retailer, lifetimeMs) {
  const accessToken = randomBytes(24).toString("base64url");
  const issuedAt = Date.now();
  const known = { retailer, issuedAt, expiresAt: issuedAt + lifetimeMs };
  const before = issued.get(latest.get(retailer));
  if (before) before.replacedAt = issuedAt;
  issued.set(accessToken, known);
  latest.set(retailer, accessToken);
  return { accessToken, expiresAt: known.expiresAt };
}

function newGrant(retailer) {
  const grant = randomBytes(24).toString("base64url");
  grants.set(grant, retailer);
  chains.set(retailer, { number: (chains.get(retailer)?.number ?? 0) + 1 });
  return grant;
}
