import type { RequestListener } from "node:http";
import fastifyCookie from "@fastify/cookie";
import { Authenticator } from "@fastify/passport";
import fastifySecureSession from "@fastify/secure-session";
import fastifySession from "@fastify/session";
import { bearer } from "@retail-pos/fastify-bearer";
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from "fastify";
import { RetailPosStrategy } from "passport-retail-pos";
import type { Combination, SiteSettings, User } from "./sites.js";

/** How a session gets into an application. */
type AddSession = (app: FastifyInstance) => void;

const SECRET = "a secret for the tests, of 32 characters and more";

export const fastifySites: readonly Combination[] = [
  fastify("Fastify 5 with @fastify/passport and @fastify/session", (app) => {
    app.register(fastifyCookie);
    app.register(fastifySession, { secret: SECRET, cookie: { secure: false }, saveUninitialized: false });
  }),
  fastify("Fastify 5 with @fastify/passport and @fastify/secure-session", (app) => {
    app.register(fastifySecureSession, { key: Buffer.alloc(32, "of the tests"), cookie: { path: "/" } });
  }),
];

function fastify(name: string, addSession: AddSession): Combination {
  return {
    name,
    losesATab: true,
    site({ strategy: options, login, trustProxy = false }: SiteSettings): RequestListener {
      const strategy = new RetailPosStrategy(options as never, ({ domainPrefix }) => ({ domainPrefix }));
      const passport = new Authenticator();
      passport.use(strategy as never);
      passport.registerUserSerializer(async (user) => user);
      passport.registerUserDeserializer(async (user) => user);

      const app = Fastify({ trustProxy });
      addSession(app);
      app.register(passport.initialize());
      app.register(passport.secureSession());
      app.register(async (routes) => addRoutes(routes, passport, strategy, login));
      return (req, res) => void app.ready().then(() => app.routing(req, res));
    },
  };
}

function addRoutes(
  app: FastifyInstance,
  passport: InstanceType<typeof Authenticator>,
  strategy: RetailPosStrategy,
  login: SiteSettings["login"],
): void {
  const userOf = (request: FastifyRequest) => request.user as User | undefined;
  app.get(
    "/login",
    { preValidation: passport.authenticate("retail-pos", { ...login } as never) },
    async () => {},
  );
  app.get(
    "/callback",
    { preValidation: passport.authenticate("retail-pos", finish as never) },
    async () => {},
  );
  app.get("/finish", { preValidation: passport.authenticate("retail-pos") }, async (request) => ({
    user: userOf(request),
    state: request.authInfo?.["state"],
  }));
  app.get("/me", async (request) => ({ user: userOf(request) ?? null }));
  const fresh = bearer({ client: strategy.client, retailer: (request) => userOf(request)?.domainPrefix });
  app.get("/products", { preHandler: fresh }, async (request) =>
    (await request.retailPos.fetch("api/products")).json(),
  );
}

async function finish(
  request: FastifyRequest,
  reply: FastifyReply,
  error: Error | null,
  user: User | false,
  info: { state?: unknown },
): Promise<void> {
  if (error) throw error;
  if (!user) return void reply.code(403).send({ info });
  await request.logIn(user as never);
  reply.send({ user, state: info.state });
}
