import "reflect-metadata";
import { fileURLToPath } from "node:url";
import type { LoggerService } from "@nestjs/common";
import { NestFactory } from "@nestjs/core";
import type { NestExpressApplication } from "@nestjs/platform-express";
import { type RetailPosOptions, retailPos } from "@retail-pos/core";
import { retailFetch } from "@retail-pos/fetch";
import session from "express-session";
import passport from "passport";
import { AppModule } from "./app.module.js";
import { ProblemPages } from "./problem-pages.js";
import { fromOurPagesOnly, neverStored, protectiveHeaders } from "./protection.js";
import type { Settings } from "./settings.js";

/** What the application may be given: where sessions are kept, a logger, and whatever the client takes. */
export interface Parts extends Partial<RetailPosOptions> {
  logger?: LoggerService;
  sessionStore?: session.Store;
  /** Aborted when the process is to end. */
  stopping?: AbortSignal;
}

const TWO_WEEKS_MS = 14 * 24 * 60 * 60_000;

/** The whole application. Sessions and tokens that nobody gives it a place for are in memory. */
export async function createApp(
  { port, host, trustProxy, databaseFile, sessionSecret, ...service }: Settings,
  { sessionStore, stopping, logger, ...more }: Parts = {},
): Promise<NestExpressApplication> {
  const client = retailPos({ ...service, fetch: retailFetch(), ...more });
  const app = await NestFactory.create<NestExpressApplication>(AppModule.with(client, stopping), {
    logger: logger ?? ["error", "warn"],
  });
  app.set("trust proxy", trustProxy);
  app.setViewEngine("ejs");
  app.setBaseViewsDir(folder("views"));
  app.use(protectiveHeaders(service));
  app.useStaticAssets(folder("public"));
  app.use(neverStored, fromOurPagesOnly(service));
  app.useGlobalFilters(new ProblemPages(app.getHttpAdapter()));
  const isHttps = service.redirectUri.startsWith("https:");
  app.use(
    session({
      name: isHttps ? "__Host-nest-login" : "nest-login", // with the prefix, no other subdomain can plant one
      secret: sessionSecret,
      resave: false,
      saveUninitialized: false,
      ...(sessionStore && { store: sessionStore }),
      cookie: {
        httpOnly: true,
        maxAge: TWO_WEEKS_MS,
        sameSite: "lax", // not strict: it has to come along when the service sends the browser back
        secure: isHttps,
      },
    }),
  );
  app.use(passport.session());
  return app;
}

function folder(name: string): string {
  return fileURLToPath(new URL(`../${name}`, import.meta.url));
}
