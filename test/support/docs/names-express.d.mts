declare global {
  const app: import("express").Express;
  const passport: import("passport").PassportStatic;
  const bearer: typeof import("@retail-pos/express-bearer").bearer;
}

export {};
