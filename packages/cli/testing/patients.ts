import type { RequestListener } from "node:http";
import { createServer as createTlsServer } from "node:https";
import { type AddressInfo, connect, createServer as createTcpServer } from "node:net";
import { type RetailPosOptions, retailPos } from "@retail-pos/core";
import { nodeHandler, type WebLoginOptions, webLogin } from "@retail-pos/login";
import { type Sandbox, startSandbox } from "@retail-pos/sandbox";
import express, { type ErrorRequestHandler, type Express, type RequestHandler } from "express";
import session from "express-session";
import Koa from "koa";
import koaPassport from "koa-passport";
import koaSession from "koa-session";
import { Passport } from "passport";
import RetailPosStrategy from "passport-retail-pos";
import { onTestFinished } from "vitest";
import { newCertificate } from "../../../test/support/certificate.js";
import { listen } from "../../../test/support/listen.js";
import type { VirtualTime } from "./virtual-time.js";

/** Where an application lives, and the service that it logs in to. */
export interface Place {
  readonly origin: string;
  readonly callback: string;
  readonly sandbox: Sandbox;
}

/** What the doctor is given. */
export interface Patient extends Place {
  /** The login's address. */
  readonly login: string;
}

/** A running application: `make` is told where it is before it answers anything. */
export async function patient(
  make: (place: Place) => RequestListener | Promise<RequestListener>,
  { callbackPath = "/callback", ...options }: { callbackPath?: string; stores?: number } = {},
): Promise<Patient> {
  let answer: RequestListener = (_req, res) => res.writeHead(503).end();
  const { origin, close } = await listen((req, res) => answer(req, res));
  onTestFinished(close);
  return placed(origin, callbackPath, options, make, (made) => {
    answer = made;
  });
}

async function placed(
  origin: string,
  callbackPath: string,
  options: object,
  make: (place: Place) => RequestListener | Promise<RequestListener>,
  serve: (made: RequestListener) => void,
): Promise<Patient> {
  const callback = origin + callbackPath;
  const sandbox = await startSandbox({ ...options, redirectUri: callback });
  onTestFinished(() => sandbox.close());
  const place = { origin, callback, sandbox };
  serve(await make(place));
  return { ...place, login: `${origin}/login` };
}

/** The same over https, with a certificate that nobody knows. */
export async function tlsPatient(
  make: (place: Place) => RequestListener,
  {
    names = ["localhost"],
    until = new Date(Date.now() + 86_400_000),
  }: { names?: string[]; until?: Date } = {},
): Promise<Patient & { readonly certificate: string }> {
  const { key, cert } = await newCertificate(names, until);
  let answer: RequestListener = (_req, res) => res.writeHead(503).end();
  const server = createTlsServer({ key, cert }, (req, res) => answer(req, res));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  const origin = `https://localhost:${(server.address() as AddressInfo).port}`;
  const sick = await placed(origin, "/callback", {}, make, (made) => {
    answer = made;
  });
  return { ...sick, certificate: cert };
}

/** What makes an Express application differ from one whose login is right. */
export interface ExpressSettings {
  /** `false`: none. */
  session?: session.SessionOptions | false;
  /** Options of the strategy, where they differ. */
  strategy?: (place: Place) => object;
  /** Options of core, where they differ. */
  client?: (place: Place) => Partial<RetailPosOptions>;
  /** Options of `passport.authenticate` on the callback. */
  finish?: object;
  /** Stands in for Passport on the login route. */
  login?: (place: Place) => RequestHandler;
  /** Stands in for Passport on the callback; `false`: there is no such route. */
  callback?: ((place: Place, passport: InstanceType<typeof Passport>) => RequestHandler) | false;
  /** Before the session. */
  before?: (app: Express, place: Place) => void;
  /** After the session, before the routes. */
  between?: (app: Express, place: Place) => void;
  /** After the routes. */
  after?: (app: Express) => void;
  /** Default: Express's own. */
  onError?: ErrorRequestHandler;
  /** Express shows what went wrong; default false, as in production. */
  isDevelopment?: boolean;
  /** Passport does not know the strategy. */
  isUnknownToPassport?: boolean;
}

/** Express with the strategy: as the README has it, but for the settings. */
export function expressApp(settings: ExpressSettings = {}): (place: Place) => Express {
  return (place) => {
    const app = express();
    app.set("env", settings.isDevelopment ? "development" : "production");
    const passport = new Passport();
    const { sandbox, callback } = place;
    const { clientId, clientSecret } = sandbox.application;
    const { authUrl, baseUrl } = sandbox;
    const client = retailPos({
      ...{ authUrl, baseUrl, clientId, clientSecret, redirectUri: callback },
      ...settings.client?.(place),
    });
    const strategy = new RetailPosStrategy({ client, ...settings.strategy?.(place) }, (login) => ({
      ...login,
    }));
    if (!settings.isUnknownToPassport) passport.use(strategy);

    settings.before?.(app, place);
    const secret = "a secret of the tests";
    if (settings.session !== false)
      app.use(session({ secret, resave: false, saveUninitialized: false, ...settings.session }));
    settings.between?.(app, place);
    app.get("/login", settings.login?.(place) ?? passport.authenticate("retail-pos"));
    if (settings.callback !== false) {
      const finish = passport.authenticate("retail-pos", { session: false, ...settings.finish });
      app.get(new URL(callback).pathname, settings.callback?.(place, passport) ?? finish, (_req, res) => {
        res.send("Welcome");
      });
    }
    settings.after?.(app);
    // Without one Express writes each error on the console.
    app.use(settings.onError ?? expressErrors(settings.isDevelopment === true));
    return app;
  };
}

/** What Express's own handler answers, without its line on the console. */
function expressErrors(isDevelopment: boolean): ErrorRequestHandler {
  return (error, _req, res, next) => {
    if (res.headersSent) return next(); // a session that could not be saved, told after the redirect
    const {
      status = 500,
      headers = {},
      stack,
    } = error as { status?: number; headers?: object; stack?: string };
    for (const [name, value] of Object.entries(headers)) res.setHeader(name, value);
    res
      .status(status)
      .type("text")
      .send(isDevelopment ? stack : "Something failed");
  };
}

/** Koa with the strategy. `options`: of koa-session; `more`: of the strategy. */
export function koaApp(
  options: Parameters<typeof koaSession>[0] & object = {},
  more: object = {},
): (place: Place) => RequestListener {
  return ({ sandbox, callback }) => {
    const app = new Koa();
    const passport = new koaPassport.KoaPassport();
    const { clientId, clientSecret } = sandbox.application;
    const { authUrl, baseUrl } = sandbox;
    const strategy = { authUrl, baseUrl, clientID: clientId, clientSecret, callbackURL: callback };
    passport.use(new RetailPosStrategy({ ...strategy, ...more }, (login) => ({ ...login })));
    app.keys = ["a key of the tests"];
    app.silent = true;
    app.use(koaSession(options, app));
    app.use(passport.initialize());
    const routes: Record<string, Koa.Middleware> = {
      "/login": passport.authenticate("retail-pos"),
      "/callback": passport.authenticate("retail-pos", { session: false }),
    };
    app.use((ctx, next) => routes[ctx.path]?.(ctx, next));
    return app.callback();
  };
}

/** node:http with `webLogin`. */
export function webApp(
  settings: { login?: Partial<WebLoginOptions>; client?: (place: Place) => Partial<RetailPosOptions> } = {},
): (place: Place) => RequestListener {
  return (place) => {
    const { sandbox, callback: redirectUri } = place;
    const { authUrl, baseUrl, application } = sandbox;
    const client = retailPos({ ...application, authUrl, baseUrl, redirectUri, ...settings.client?.(place) });
    const { start, callback } = webLogin({
      client,
      secret: "a secret of the tests, longer than 32 letters",
      onLogin: () => new Response("Welcome"),
      ...settings.login,
    });
    const [login, back] = [nodeHandler((request) => start(request)), nodeHandler(callback)];
    return (req, res) => {
      const { pathname } = new URL(req.url ?? "/", place.origin);
      const handler = pathname === "/login" ? login : pathname === "/callback" ? back : undefined;
      if (handler) handler(req, res).catch(() => res.writeHead(500).end());
      else res.writeHead(404).end();
    };
  };
}

/** Several processes that take turns, as behind a load balancer: each has what `make` gives it. */
export function takingTurns(make: (place: Place) => RequestListener): (place: Place) => RequestListener {
  return (place) => {
    const processes = [make(place), make(place)];
    let requests = 0;
    return (req, res) => processes[requests++ % processes.length]?.(req, res);
  };
}

/** The same where connections take turns, as in Node's cluster, and what comes over one goes to one process. */
export async function byConnection(make: (place: Place) => RequestListener): Promise<Patient> {
  const ports: number[] = [];
  const balancer = createTcpServer((socket) => {
    const port = ports[connections++ % ports.length] ?? 0;
    const process = connect(port, "127.0.0.1");
    for (const end of [socket, process]) end.on("error", () => {}); // the other end goes with it
    socket.pipe(process).pipe(socket);
    socket.on("close", () => process.destroy());
  });
  let connections = 0;
  await new Promise<void>((resolve) => balancer.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void balancer.close());
  const origin = `http://localhost:${(balancer.address() as AddressInfo).port}`;
  const callback = `${origin}/callback`;
  const sandbox = await startSandbox({ redirectUri: callback });
  onTestFinished(() => sandbox.close());
  const place = { origin, callback, sandbox };
  for (const app of [make(place), make(place)]) {
    const { port, close } = await listen(app);
    onTestFinished(close);
    ports.push(port);
  }
  return { ...place, login: `${origin}/login` };
}

interface Oddities extends Partial<Pick<session.Store, "get" | "set">> {
  readonly time?: VirtualTime;
  /** What a load takes. */
  readonly slowMs?: number;
  /** What a save takes. */
  readonly slowSaveMs?: number;
  /** How long after it was saved a session can be loaded. */
  readonly lateMs?: number;
}

/** A session store in memory, as slow or as broken as it is told to be. */
export class OddSessions extends session.Store {
  private readonly kept = new session.MemoryStore();
  private readonly odd: Oddities;
  constructor(odd: Oddities) {
    super();
    this.odd = odd;
  }
  get: session.Store["get"] = (id, done) => {
    const { get, time, slowMs = 0 } = this.odd;
    if (get) return get(id, done);
    time?.pass(slowMs);
    this.kept.get(id, done);
  };
  set: session.Store["set"] = (id, data, done) => {
    const { set, time, lateMs, slowSaveMs = 0 } = this.odd;
    if (set) return set(id, data, done);
    time?.pass(slowSaveMs);
    if (lateMs === undefined) return this.kept.set(id, data, done);
    const written = { ...JSON.parse(JSON.stringify(data)), cookie: data.cookie };
    time?.after(lateMs, () => this.kept.set(id, written));
    done?.();
  };
  destroy: session.Store["destroy"] = (id, done) => this.kept.destroy(id, done);
}
