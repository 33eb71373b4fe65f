declare global {
  const app: import("fastify").FastifyInstance;
  const passport: typeof import("@fastify/passport").default;
  const bearer: typeof import("@retail-pos/fastify-bearer").bearer;
  const showProducts: import("fastify").RouteHandlerMethod;
}

declare module "fastify" {
  interface PassportUser {
    domainPrefix: string;
  }
  interface FastifyRequest {
    user?: PassportUser;
    res: object | null;
  }
}

declare module "@fastify/secure-session" {
  interface SessionData {
    store: string;
  }
}

export {};
