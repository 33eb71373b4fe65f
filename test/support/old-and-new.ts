import { createRequire } from "node:module";
import type { RetailPos } from "@retail-pos/core";
import express, { type Express as Application, type ErrorRequestHandler } from "express";
import session from "express-session";
import { Passport, type Strategy } from "passport";
import RetailPosStrategy, { type RetailPosStrategyOptions } from "passport-retail-pos";
import type { Pool } from "pg";

// One application twice: as people write it on passport-oauth2, and on this library.

const require = createRequire(import.meta.url);
const OAuth2Strategy: new (
  ...given: unknown[]
) => Strategy & {
  _oauth2: { _accessTokenUrl: string };
} = require("passport-oauth2");
const SessionStates: new (options: {
  key: string;
}) => Extract<RetailPosStrategyOptions["store"], object> = require("passport-oauth2/lib/state/session.js");

/** The service's addresses and the registered application. */
export interface Service {
  readonly authUrl: string;
  readonly baseUrl: string;
  readonly application: { clientId: string; clientSecret: string; redirectUri: string };
}

/** A row of the old program's table. */
export interface Row {
  readonly store: string;
  readonly access_token: string;
  readonly refresh_token: string;
  readonly expires_at: Date;
}

/** How the old program refreshes. Resolves with the row as it is afterwards. */
export type Refresh = (
  pool: Pool,
  row: Row,
  requestTokens: (row: Row) => Promise<WireTokens>,
) => Promise<Row>;

interface WireTokens {
  access_token: string;
  refresh_token?: string;
  expires: number;
}

/** As it was before it was made ready: the refused request fails, and the write compares nothing. */
export const carelessRefresh: Refresh = async (pool, row, requestTokens) => {
  const { access_token, refresh_token = row.refresh_token, expires } = await requestTokens(row);
  const { rows } = await pool.query<Row>(
    "UPDATE store_tokens SET access_token = $2, refresh_token = $3, expires_at = to_timestamp($4) WHERE store = $1 RETURNING *",
    [row.store, access_token, refresh_token, expires],
  );
  return rows[0] as Row;
};

/** The session's store, and its cookie, are those of all processes, old and new. */
export type Sessions = session.Store;

/** The old program, and what its cron job calls. */
export function oldProgram(
  { authUrl, baseUrl, application }: Service,
  pool: Pool,
  { sessions, refresh, clock }: { sessions: Sessions; refresh: Refresh; clock: () => number },
): { app: Application; refreshAll: () => Promise<void> } {
  const { clientId, clientSecret, redirectUri } = application;
  const tokenUrl = (store: string) => `${baseUrl.replace("{domain_prefix}", store)}/api/1.0/token`;

  class StoreStrategy extends OAuth2Strategy {
    override authenticate(req: express.Request, options: unknown) {
      if (req.query["domain_prefix"])
        this._oauth2._accessTokenUrl = tokenUrl(String(req.query["domain_prefix"]));
      super.authenticate(req, options);
    }
  }
  const strategy = new StoreStrategy(
    {
      authorizationURL: `${authUrl}/connect`,
      tokenURL: "replaced-later",
      clientID: clientId,
      clientSecret,
      callbackURL: redirectUri,
      state: true,
      passReqToCallback: true,
    },
    async (
      req: express.Request,
      accessToken: string,
      refreshToken: string,
      params: WireTokens,
      _profile: unknown,
      done: (error: unknown, user?: unknown) => void,
    ) => {
      const store = String(req.query["domain_prefix"]);
      await pool.query(
        `INSERT INTO store_tokens (store, access_token, refresh_token, expires_at) VALUES ($1, $2, $3, to_timestamp($4))
         ON CONFLICT (store) DO UPDATE SET access_token = excluded.access_token,
           refresh_token = excluded.refresh_token, expires_at = excluded.expires_at`,
        [store, accessToken, refreshToken, params.expires],
      );
      done(null, { store });
    },
  );

  async function requestTokens(row: Row): Promise<WireTokens> {
    const answer = await fetch(tokenUrl(row.store), {
      method: "POST",
      body: new URLSearchParams({
        grant_type: "refresh_token",
        refresh_token: row.refresh_token,
        client_id: clientId,
        client_secret: clientSecret,
      }),
    });
    if (!answer.ok) throw new Error(`the refresh was answered ${answer.status}`);
    return (await answer.json()) as WireTokens;
  }

  async function products(store: string): Promise<Response> {
    const { rows } = await pool.query<Row>("SELECT * FROM store_tokens WHERE store = $1", [store]);
    let row = rows[0];
    if (!row) throw new Error(`${store} is not connected`);
    if (row.expires_at.getTime() <= clock()) row = await refresh(pool, row, requestTokens);
    const call = ({ access_token }: Row) =>
      fetch(`${baseUrl.replace("{domain_prefix}", store)}/api/retailer`, {
        headers: { authorization: `Bearer ${access_token}` },
      });
    let answer = await call(row);
    for (let tries = 0; answer.status === 401 && tries < 2; tries += 1) {
      row = await refresh(pool, row, requestTokens);
      answer = await call(row);
    }
    return answer;
  }

  async function refreshAll(): Promise<void> {
    const { rows } = await pool.query<Row>("SELECT * FROM store_tokens");
    for (const row of rows) await refresh(pool, row, requestTokens);
  }
  return { app: site(strategy, products, sessions), refreshAll };
}

/** The new program. */
export function newProgram(pos: RetailPos, { authUrl }: Service, sessions: Sessions): Application {
  // Of the old strategy: a login that began at an old process may come back to a new one, and the other way round.
  const store = new SessionStates({ key: `oauth2:${new URL(authUrl).hostname}` });
  const userOf = (domainPrefix: string) => ({ store: domainPrefix }) as object as Express.User;
  const strategy = new RetailPosStrategy({ client: pos, store }, ({ domainPrefix }) => userOf(domainPrefix));
  return site(strategy, (name) => pos.retailer(name).fetch("api/retailer"), sessions);
}

/** What both have in common: the session's cookie, what it holds of a user, the paths, the strategy's name. */
function site(
  strategy: Strategy,
  products: (store: string) => Promise<Response>,
  sessions: Sessions,
): Application {
  const passport = new Passport();
  passport.use("store", strategy);
  passport.serializeUser((user: object, done) => done(null, (user as { store: string }).store));
  passport.deserializeUser((store: string, done) => done(null, { store } as object as Express.User));

  const app = express();
  app.use(
    session({
      name: "sid",
      secret: "of the old program",
      resave: false,
      saveUninitialized: false,
      store: sessions,
    }),
  );
  app.use(passport.session());
  app.get("/login", passport.authenticate("store"));
  app.get("/login/callback", passport.authenticate("store", { successRedirect: "/products" }));
  app.get("/products", async (req, res) => {
    const { user } = req as unknown as { user?: { store: string } };
    if (!user) {
      res.status(401).send("nobody is logged in");
      return;
    }
    const answer = await products(user.store);
    res.status(answer.status).send(await answer.text());
  });
  const onError: ErrorRequestHandler = (error, _req, res, _next) => void res.status(500).send(String(error));
  app.use(onError);
  return app;
}
