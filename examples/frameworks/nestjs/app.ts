import "reflect-metadata";
import {
  type ArgumentsHost,
  Catch,
  Controller,
  type ExecutionContext,
  Get,
  HttpException,
  Injectable,
  type MiddlewareConsumer,
  Module,
  Redirect,
  Req,
  UseGuards,
} from "@nestjs/common";
import { BaseExceptionFilter, NestFactory } from "@nestjs/core";
import { AuthGuard, PassportStrategy } from "@nestjs/passport";
import type { NestExpressApplication } from "@nestjs/platform-express";
import { isRetailPosError, retailPos, settingsFromEnv } from "@retail-pos/core";
import { bearer } from "@retail-pos/express-bearer";
import type { Request, Response } from "express";
import session from "express-session";
import passport from "passport";
import { type LoginFailureInfo, type RetailPosLogin, RetailPosStrategy } from "passport-retail-pos";

declare global {
  namespace Express {
    interface User {
      domainPrefix: string;
    }
  }
}

const { PORT = 3000, SESSION_SECRET = "", RETAIL_POS_REDIRECT_URI = "" } = process.env;
const client = retailPos(settingsFromEnv());

// log in with store
@Injectable()
class LoginStrategy extends PassportStrategy(RetailPosStrategy) {
  constructor() {
    super({ client });
  }
  validate({ domainPrefix }: RetailPosLogin) {
    return { domainPrefix };
  }
}
@Injectable()
class LoginGuard extends AuthGuard("retail-pos") {
  override async canActivate(context: ExecutionContext) {
    await super.canActivate(context);
    await super.logIn(context.switchToHttp().getRequest());
    return true;
  }
  override handleRequest<U>(error: unknown, user: U, info: LoginFailureInfo, _: unknown, status = 401) {
    if (error) throw error;
    if (user) return user;
    throw new HttpException({ statusCode: status, ...info }, status);
  }
}
@Controller("auth/retail-pos")
@UseGuards(LoginGuard)
class LoginController {
  @Get() start() {}
  @Get("callback") @Redirect("/products") finish() {}
}

// call the API
const fresh = bearer({ client, retailer: (req: Request) => req.user?.domainPrefix });

@Controller("products")
class ProductsController {
  @Get()
  async list(@Req() req: Request) {
    const products = await req.retailPos.fetch("api/products");
    if (!products.ok) throw new HttpException("The store's API failed", products.status);
    return products.json();
  }
}

// errors: Nest's own answer, with the headers that they bring
@Catch()
class HeadersFirst extends BaseExceptionFilter {
  override catch(error: unknown, host: ArgumentsHost) {
    if (isRetailPosError(error))
      host
        .switchToHttp()
        .getResponse<Response>()
        .set({ ...error.headers });
    super.catch(error, host);
  }
}

@Module({ controllers: [LoginController, ProductsController], providers: [LoginStrategy] })
class AppModule {
  configure(consumer: MiddlewareConsumer) {
    consumer.apply(fresh).forRoutes(ProductsController);
  }
}

const app = await NestFactory.create<NestExpressApplication>(AppModule, { logger: ["error", "warn"] });
const secure = RETAIL_POS_REDIRECT_URI.startsWith("https:");
if (secure) app.set("trust proxy", 1); // behind a proxy that ends TLS; without it no cookie is sent
const name = secure ? "__Host-session" : "session"; // no other host of your domain can set it
const cookie = { sameSite: "lax", secure } as const;
app.use(session({ name, secret: SESSION_SECRET, resave: false, saveUninitialized: false, cookie }));
app.use(passport.session());
app.useGlobalFilters(new HeadersFirst(app.getHttpAdapter()));
passport.serializeUser((user, done) => done(null, user));
passport.deserializeUser((user: Express.User, done) => done(null, user));
await app.listen(PORT);
