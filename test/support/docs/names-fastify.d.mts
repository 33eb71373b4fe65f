declare global {
  const app: import("fastify").FastifyInstance;
  const bearer: typeof import("@retail-pos/fastify-bearer").bearer;
}

declare module "fastify" {
  interface FastifyRequest {
    user?: { domainPrefix: string };
  }
}

declare module "@fastify/secure-session" {
  interface SessionData {
    store: string;
  }
}

export {};
