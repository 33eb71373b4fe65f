// An application as people write it, on the built packages, which shows its parent whatever a careless program might
// print: every error, event and object that it comes by. What it prints itself its parent reads from the pipes.
import { createServer } from "node:http";
import { inspect } from "node:util";
import { retailPos } from "@retail-pos/core";
import { bearer as expressBearer } from "@retail-pos/express-bearer";
import { bearer as koaBearer } from "@retail-pos/koa-bearer";
import { sealedStore } from "@retail-pos/sealed-store";
import { RetailPosStrategy } from "passport-retail-pos";

const { FRAMEWORK, OPTIONS, PERSONAL_TOKEN } = process.env;
const options = JSON.parse(OPTIONS);
delete process.env.OPTIONS;
delete process.env.PERSONAL_TOKEN;

let now = Date.UTC(2030, 0, 1);
let storeFails = "never";
const records = new Map();
const given = [];

const EVERYTHING = { depth: Infinity, showHidden: true, maxStringLength: null, maxArrayLength: null };

/** Shows a thing as the console and a log line would. */
function show(place, thing) {
  process.send({ place, texts: [inspect(thing, EVERYTHING), String(thing)] });
}

/**
 * Shows what is there to be logged in every way there is: as JSON too, and without its own say in how it is printed.
 */
function showAll(place, thing) {
  const texts = [
    inspect(thing, { ...EVERYTHING, customInspect: false, getters: true }),
    JSON.stringify(thing) ?? "",
  ];
  for (let cause = thing; cause instanceof Error; cause = cause.cause)
    texts.push(`${cause.message} ${cause.stack}`);
  process.send({ place, texts });
  show(place, thing);
}

/** As a database: whoever reads its files sees the records. */
const database = {
  load: async (domainPrefix) => records.get(domainPrefix),
  async save(next, replacing) {
    if (replacing && records.get(next.domainPrefix)?.version !== replacing.version) return false;
    records.set(next.domainPrefix, structuredClone({ ...next }));
    return true;
  },
  remove: async (domainPrefix) => void records.delete(domainPrefix),
};
const sealed = sealedStore(database, {
  keys: [{ id: "2030", secret: Buffer.alloc(32, 7).toString("base64") }],
});

/** Repeats all it was given, as drivers do, where it is told to fail. */
const store = {
  async load(domainPrefix) {
    const set = await sealed.load(domainPrefix);
    if (storeFails === "load") throw leaky("SELECT", [set]);
    return set;
  },
  async save(next, replacing) {
    given.push(JSON.stringify(next));
    if (storeFails === "save") throw leaky("UPDATE", [next, replacing]);
    return sealed.save(next, replacing);
  },
  remove: sealed.remove,
};

function leaky(statement, sets) {
  const parameters = sets.map((set) => set && { ...set });
  const error = new Error(`${statement} failed: ${JSON.stringify(parameters)}`);
  return Object.assign(error, {
    parameters,
    detail: new URLSearchParams({ sets: JSON.stringify(parameters) }).toString(),
  });
}

const server = createServer((req, res) => handler(req, res));
await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
const { port } = server.address();
const callbackURL = `http://localhost:${port}/callback`;
const client = retailPos({
  ...options,
  redirectUri: callbackURL,
  store,
  clock: () => now,
  observe: (event) => showAll(`event ${event.type}`, event),
});
const strategy = new RetailPosStrategy({ client, clock: () => now }, (login) => {
  // `params` is the token response, as passport-oauth2 hands it on: the access token stands in it.
  show("login", { ...login, params: { ...login.params, access_token: undefined } });
  return { domainPrefix: login.domainPrefix };
});
const personalToken = { baseUrl: options.baseUrl, domainPrefix: "shop", token: PERSONAL_TOKEN };

/** What a route does with the bearer of its request. */
async function products(retailPos) {
  show("request bearer", retailPos);
  show("access token", await retailPos.token());
  const response = await retailPos.fetch("api/products");
  await response.body?.cancel();
  return { status: response.status, retailer: retailPos.domainPrefix };
}

async function expressApp() {
  const [{ default: express }, { default: session }, { Passport }] = [
    await import("express"),
    await import("express-session"),
    (await import("passport")).default,
  ];
  const passport = new Passport();
  passport.use(strategy);
  passport.serializeUser((user, done) => done(null, user));
  passport.deserializeUser((user, done) => done(null, user));
  const sessions = new session.MemoryStore();
  const app = express();
  app.use(session({ store: sessions, secret: "for the tests", resave: false, saveUninitialized: true }));
  app.use(passport.session());
  app.get("/login", passport.authenticate("retail-pos", { state: { from: "/login" } }));
  app.get("/callback", (req, res, next) => {
    res.on("finish", () => {
      show("request of the callback", req);
      show("session of the callback", req.session);
      showAll("session store", sessions.sessions);
    });
    passport.authenticate("retail-pos", (error, user, info) => {
      showAll("info", info);
      if (error) return next(error);
      if (!user) return res.status(403).json({ info });
      req.logIn(user, (problem) => (problem ? next(problem) : res.json({ user, info })));
    })(req, res, next);
  });
  const answer = (req, res, next) => {
    res.on("finish", () => show("request", req));
    products(req.retailPos).then((found) => res.json(found), next);
  };
  app.get("/products", expressBearer({ client, retailer: (req) => req.user?.domainPrefix }), answer);
  app.get("/personal", expressBearer({ personalToken }), answer);
  app.get("/personal/rejected", expressBearer({ personalToken }), (req, _res, next) => {
    req.retailPos.token({ rejected: req.retailPos.accessToken }).catch(next);
  });
  app.use((error, req, _res, next) => {
    showAll("error", error);
    console.error("a request failed", req.path, error);
    next(error); // Express's own handler answers and prints
  });
  return app;
}

async function koaApp() {
  const [{ default: Koa }, { default: session }, { KoaPassport }] = [
    await import("koa"),
    await import("koa-session"),
    (await import("koa-passport")).default,
  ];
  const passport = new KoaPassport();
  passport.use(strategy);
  passport.serializeUser((user, done) => done(null, user));
  passport.deserializeUser((user, done) => done(null, user));
  const app = new Koa();
  app.keys = ["for the tests"];
  app.on("error", (error) => {
    showAll("error", error);
    console.error("a request failed", error);
    app.onerror(error); // prints, as where nobody listens
  });
  app.use(session(app)); // the session lies in the cookie itself
  app.use(passport.initialize());
  app.use(passport.session());
  const routes = {
    "/login": passport.authenticate("retail-pos", { state: { from: "/login" } }),
    "/callback": async (ctx, next) => {
      await passport.authenticate("retail-pos", async (error, user, info) => {
        showAll("info", info);
        if (error) throw error;
        if (user) await ctx.login(user);
        else ctx.status = 403;
        ctx.body = user ? { user, info } : { info };
      })(ctx, next);
      show("request of the callback", ctx.req);
      show("session of the callback", ctx.session);
    },
    "/products": (ctx) =>
      koaBearer({ client, retailer: () => ctx.state.user?.domainPrefix })(ctx, () => answer(ctx)),
    "/personal": (ctx) => koaBearer({ personalToken })(ctx, () => answer(ctx)),
    "/personal/rejected": (ctx) =>
      koaBearer({ personalToken })(ctx, () =>
        ctx.state.retailPos.token({ rejected: ctx.state.retailPos.accessToken }),
      ),
  };
  const answer = async (ctx) => {
    ctx.body = await products(ctx.state.retailPos);
    show("request", ctx.req);
    show("state", ctx.state);
    show("context", ctx);
  };
  app.use((ctx, next) => routes[ctx.path]?.(ctx, next));
  return app.callback();
}

const handler = FRAMEWORK === "koa" ? await koaApp() : await expressApp();

process.on("message", ({ id, advanceMs, fail }) => {
  if (advanceMs) now += advanceMs;
  if (fail) storeFails = fail;
  show("strategy", strategy);
  showAll("client", client);
  showAll("retailer's client", client.retailer("shop"));
  process.send({ id, records: [...records].map((record) => JSON.stringify(record)), given: given.splice(0) });
});
process.once("disconnect", () => process.exit());
process.on("uncaughtException", (error) => showAll("error that nobody caught", error));
process.on("unhandledRejection", (error) => showAll("rejection that nobody caught", error));
process.send({ port });
