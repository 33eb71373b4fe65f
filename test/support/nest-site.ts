import "reflect-metadata";
import type { RequestListener } from "node:http";
import {
  type ArgumentsHost,
  Controller,
  type ExecutionContext,
  Get,
  HttpException,
  type MiddlewareConsumer,
  Module,
  Req,
  UseGuards,
} from "@nestjs/common";
import { BaseExceptionFilter, NestFactory } from "@nestjs/core";
import { AuthGuard, PassportStrategy } from "@nestjs/passport";
import type { NestExpressApplication } from "@nestjs/platform-express";
import { isRetailPosError, type RetailPos } from "@retail-pos/core";
import { bearer } from "@retail-pos/express-bearer";
import type { Request, Response } from "express";
import expressSession from "express-session";
import passport from "passport";
import { type LoginFailureInfo, type RetailPosLogin, RetailPosStrategy } from "passport-retail-pos";
import type { Combination, SiteSettings, User } from "./sites.js";

export const nestSite: Combination = {
  name: "NestJS 11 with @nestjs/passport and express-bearer",
  site(settings) {
    const app = start(settings);
    return (req, res) => void app.then((listener) => listener(req, res));
  },
};

class LoginStrategy extends PassportStrategy(RetailPosStrategy) {
  validate({ domainPrefix }: RetailPosLogin): User {
    return { domainPrefix };
  }
}

async function start(settings: SiteSettings): Promise<RequestListener> {
  const { client } = new LoginStrategy(settings.strategy as never); // it tells Passport itself
  passport.serializeUser((user, done) => done(null, user));
  passport.deserializeUser((user: User, done) => done(null, user));
  const app = await NestFactory.create<NestExpressApplication>(moduleOf(client, settings), { logger: false });
  app.set("trust proxy", settings.trustProxy === true);
  app.useGlobalFilters(new HeadersFirst(app.getHttpAdapter()));
  app.use(expressSession({ secret: "for the tests", resave: false, saveUninitialized: false }));
  app.use(passport.session());
  await app.init();
  return app.getHttpAdapter().getInstance();
}

/** Nest's own filter, with the headers that core's errors bring, from wherever they are thrown. */
class HeadersFirst extends BaseExceptionFilter {
  override catch(error: unknown, host: ArgumentsHost): void {
    const res = host.switchToHttp().getResponse<Response>();
    if (isRetailPosError(error)) res.set({ ...error.headers });
    super.catch(error, host);
  }
}

// Decorators as the functions that they are: these files are not compiled by Nest's compiler.
function moduleOf(client: RetailPos, { login }: SiteSettings): new () => unknown {
  class StartGuard extends AuthGuard("retail-pos") {
    override getAuthenticateOptions(): object {
      return { ...login };
    }
  }
  class FinishGuard extends AuthGuard("retail-pos") {
    override async canActivate(context: ExecutionContext): Promise<boolean> {
      await super.canActivate(context);
      await super.logIn(context.switchToHttp().getRequest());
      return true;
    }
    override handleRequest<U>(error: unknown, user: U, info: LoginFailureInfo, _: unknown, status = 401): U {
      if (error) throw error;
      if (user) return user;
      throw new HttpException({ info }, status);
    }
  }
  class Pages {
    start(): void {}
    finish({ user, authInfo }: Request): object {
      return { user, state: authInfo?.state };
    }
    me({ user }: Request): object {
      return { user: user ?? null };
    }
    async products({ retailPos }: Request): Promise<unknown> {
      return (await retailPos.fetch("api/products")).json();
    }
  }
  class App {
    configure(consumer: MiddlewareConsumer): void {
      const retailer = (req: Request) => (req.user as User | undefined)?.domainPrefix;
      consumer.apply(bearer({ client, retailer })).forRoutes("products");
    }
  }
  decorate(Pages, "start", Get("login"), UseGuards(StartGuard));
  decorate(Pages, "finish", Get(["callback", "finish"]), UseGuards(FinishGuard));
  decorate(Pages, "me", Get("me"));
  decorate(Pages, "products", Get("products"));
  for (const name of ["finish", "me", "products"]) Req()(Pages.prototype, name, 0);
  Controller()(Pages);
  Module({ controllers: [Pages] })(App);
  return App;
}

function decorate(type: new () => object, name: string, ...decorators: MethodDecorator[]): void {
  const descriptor = Object.getOwnPropertyDescriptor(type.prototype, name);
  if (!descriptor) throw new Error(`there is no ${name}`);
  for (const decorator of decorators) decorator(type.prototype, name, descriptor);
}
