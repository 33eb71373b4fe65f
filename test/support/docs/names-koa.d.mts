declare global {
  const app: import("koa");
  const router: import("@koa/router").default;
  const passport: typeof import("koa-passport");
  const bearer: typeof import("@retail-pos/koa-bearer").bearer;
  const showProducts: import("@koa/router").RouterMiddleware;
}

export {};
