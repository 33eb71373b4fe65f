import { once } from "node:events";
import { createServer } from "node:http";
import { commanded } from "../../lib/process.mjs";
import { APPLICATION } from "../../lib/service.mjs";

let port;
let before;

commanded({
  port: () => port,
  mark: () => {
    before = process.cpuUsage();
  },
  /** Microseconds since the mark. */
  cpu: () => {
    const { user, system } = process.cpuUsage(before);
    return user + system;
  },
  async start({ framework, file, baseUrl, retailer, held }) {
    const app = await apps[framework](await middlewareSetup(file, { baseUrl, retailer, held }));
    const server = createServer({ keepAliveTimeout: 600_000 }, app).listen(0, "127.0.0.1");
    await once(server, "listening");
    port = server.address().port;
  },
});

async function middlewareSetup(file, { baseUrl, retailer, held }) {
  if (file.startsWith("next")) return { held };
  if (file === "property") return { held, property: true };
  const { default: contestant } = await import(`../../contestants/${file}.mjs`);
  const tokenUrl = (name) => `${baseUrl.replace("{domain_prefix}", name)}/api/1.0/token`;
  const tokens = new Map([[retailer, held]]);
  return { ...(await contestant.create({ ...APPLICATION, baseUrl, tokenUrl, tokens })), retailer };
}

// The retailer is a constant: where an application finds it out, it does so in front of any contestant.
const apps = {
  async express({ pos, bearer, property, held, retailer }) {
    const { default: express } = await import("express");
    const app = express();
    if (pos) {
      const { bearer: ours } = await import("@retail-pos/express-bearer");
      app.use(ours({ client: pos, retailer: () => retailer }));
      app.get("/", (req, res) => res.end(req.retailPos.accessToken));
    } else if (bearer) {
      app.use(async (req, _res, next) => {
        req.accessToken = await bearer(retailer);
        next();
      });
      app.get("/", (req, res) => res.end(req.accessToken));
    } else if (property) {
      app.use((req, _res, next) => {
        req.accessToken = held.accessToken;
        next();
      });
      app.get("/", (req, res) => res.end(req.accessToken));
    } else {
      app.use((_req, _res, next) => next());
      app.get("/", (_req, res) => res.end(held.accessToken));
    }
    return app;
  },
  async koa({ pos, bearer, property, held, retailer }) {
    const { default: Koa } = await import("koa");
    const app = new Koa();
    if (pos) {
      const { bearer: ours } = await import("@retail-pos/koa-bearer");
      app.use(ours({ client: pos, retailer: () => retailer }));
      app.use((ctx) => {
        ctx.body = ctx.state.retailPos.accessToken;
      });
    } else if (bearer) {
      app.use(async (ctx, next) => {
        ctx.state.accessToken = await bearer(retailer);
        await next();
      });
      app.use((ctx) => {
        ctx.body = ctx.state.accessToken;
      });
    } else if (property) {
      app.use((ctx, next) => {
        ctx.state.accessToken = held.accessToken;
        return next();
      });
      app.use((ctx) => {
        ctx.body = ctx.state.accessToken;
      });
    } else {
      app.use((_ctx, next) => next());
      app.use((ctx) => {
        ctx.body = held.accessToken;
      });
    }
    return app.callback();
  },
};
