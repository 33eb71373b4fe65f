declare global {
  const Injectable: typeof import("@nestjs/common").Injectable;
  const AuthGuard: typeof import("@nestjs/passport").AuthGuard;
  const HttpException: typeof import("@nestjs/common").HttpException;
  type ExecutionContext = import("@nestjs/common").ExecutionContext;
  const LoginGuard: ReturnType<typeof AuthGuard>;

  const app: import("express").Express;
  const passport: import("passport").PassportStatic;
  const requireLogin: import("express").RequestHandler;
  const bearer: typeof import("@retail-pos/express-bearer").bearer;
  const showProducts: import("express").RequestHandler<{ store: string }>;
}

declare module "express-session" {
  interface SessionData {
    pending?: string;
  }
}

export {};
