import {
  Controller,
  type ExecutionContext,
  Get,
  Inject,
  Injectable,
  Redirect,
  UseGuards,
} from "@nestjs/common";
import { AuthGuard, PassportStrategy } from "@nestjs/passport";
import type { RetailPos } from "@retail-pos/core";
import { type LoginFailureInfo, type RetailPosLogin, RetailPosStrategy } from "passport-retail-pos";
import { CLIENT } from "./client.js";
import { loginFailure } from "./login-failure.js";

@Injectable()
export class LoginStrategy extends PassportStrategy(RetailPosStrategy) {
  constructor(@Inject(CLIENT) client: RetailPos) {
    super({ client });
  }
  validate({ domainPrefix }: RetailPosLogin): Express.User {
    return { domainPrefix }; // find or create your user here; return null to refuse
  }
}

/** Starts a login, and finishes one: who comes through is in the session. */
@Injectable()
export class LoginGuard extends AuthGuard("retail-pos") {
  override async canActivate(context: ExecutionContext): Promise<boolean> {
    await super.canActivate(context);
    await super.logIn(context.switchToHttp().getRequest());
    return true;
  }
  override handleRequest<U>(error: unknown, user: U, info: LoginFailureInfo, _: unknown, status = 401): U {
    if (!error && user) return user;
    throw loginFailure(error, info, status);
  }
}

@Controller("auth/retail-pos")
@UseGuards(LoginGuard)
export class LoginController {
  @Get() start() {}
  @Get("callback") @Redirect("/products") finish() {}
}
