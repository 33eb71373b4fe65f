import { type DynamicModule, Inject, type MiddlewareConsumer, Module, type NestModule } from "@nestjs/common";
import type { RetailPos } from "@retail-pos/core";
import { bearer } from "@retail-pos/express-bearer";
import { CLIENT } from "./client.js";
import { LoginController, LoginStrategy } from "./login.js";
import { UserSerializer } from "./session.js";
import { ShopController } from "./shop.controller.js";

@Module({ controllers: [LoginController, ShopController], providers: [LoginStrategy, UserSerializer] })
export class AppModule implements NestModule {
  readonly #client: RetailPos;

  constructor(@Inject(CLIENT) client: RetailPos) {
    this.#client = client;
  }

  static with(client: RetailPos): DynamicModule {
    return { module: AppModule, providers: [{ provide: CLIENT, useValue: client }] };
  }

  configure(consumer: MiddlewareConsumer): void {
    const fresh = bearer({ client: this.#client, retailer: (req) => req.user?.domainPrefix });
    consumer.apply(fresh).forRoutes("products"); // whatever calls the API
  }
}
