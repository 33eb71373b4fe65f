declare global {
  const app: import("hono").Hono;
  const bearer: typeof import("@retail-pos/hono-bearer").bearer;
  const showProducts: import("hono").Handler;
  const HTTPException: typeof import("hono/http-exception").HTTPException;
}

declare module "hono" {
  interface ContextVariableMap {
    user?: { domainPrefix: string };
  }
}

export {};
