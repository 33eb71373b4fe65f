import { type DynamicModule, Inject, type MiddlewareConsumer, Module, type NestModule } from "@nestjs/common";
import type { RetailPos } from "@retail-pos/core";
import { bearer } from "@retail-pos/express-bearer";
import { CLIENT, STOPPING } from "./client.js";
import { HealthController } from "./health.controller.js";
import { LoginController, LoginStrategy } from "./login.js";
import { UserSerializer } from "./session.js";
import { ShopController } from "./shop.controller.js";

@Module({
  controllers: [HealthController, LoginController, ShopController],
  providers: [LoginStrategy, UserSerializer],
})
export class AppModule implements NestModule {
  readonly #client: RetailPos;

  constructor(@Inject(CLIENT) client: RetailPos) {
    this.#client = client;
  }

  static with(client: RetailPos, stopping?: AbortSignal): DynamicModule {
    const providers = [
      { provide: CLIENT, useValue: client },
      { provide: STOPPING, useValue: stopping },
    ];
    return { module: AppModule, providers };
  }

  configure(consumer: MiddlewareConsumer): void {
    const fresh = bearer({ client: this.#client, retailer: (req) => req.user?.domainPrefix });
    consumer.apply(fresh).forRoutes("products"); // whatever calls the API
  }
}
