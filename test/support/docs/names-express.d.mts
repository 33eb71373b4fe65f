declare global {
  const app: import("express").Express;
  const passport: import("passport").PassportStatic;
  const requireLogin: import("express").RequestHandler;
  const bearer: typeof import("@retail-pos/express-bearer").bearer;
}

export {};
