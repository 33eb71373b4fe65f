import {
  Controller,
  type ExecutionContext,
  Get,
  HttpException,
  Inject,
  Injectable,
  Redirect,
  UseGuards,
} from "@nestjs/common";
import { AuthGuard, PassportStrategy } from "@nestjs/passport";
import type { RetailPos } from "@retail-pos/core";
import { type LoginFailureInfo, type RetailPosLogin, RetailPosStrategy } from "passport-retail-pos";
import { CLIENT } from "./client.js";

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
    if (isAnswerOfService(error)) {
      const { message } = error;
      throw new HttpException({ statusCode: 502, code: "authorization_failed", message }, 502);
    }
    if (error) throw error;
    if (user) return user;
    throw new HttpException({ statusCode: status, ...info }, status);
  }
}

/** The service sent an error in place of a code, and not that somebody declined. For Passport that is an exception. */
function isAnswerOfService(error: unknown): error is Error {
  return error instanceof Error && error.name === "AuthorizationError";
}

@Controller("auth/retail-pos")
@UseGuards(LoginGuard)
export class LoginController {
  @Get() start() {}
  @Get("callback") @Redirect("/products") finish() {}
}
