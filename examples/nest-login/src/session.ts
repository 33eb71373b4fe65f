import { Injectable } from "@nestjs/common";
import { PassportSerializer } from "@nestjs/passport";

declare global {
  namespace Express {
    /** Who is logged in: one store. A real application would keep a user of its own here. */
    interface User {
      domainPrefix: string;
    }
  }
}

/** The user as the session keeps it. */
@Injectable()
export class UserSerializer extends PassportSerializer {
  serializeUser(user: Express.User, done: (error: unknown, kept: string) => void): void {
    done(null, user.domainPrefix);
  }
  deserializeUser(domainPrefix: string, done: (error: unknown, user: Express.User) => void): void {
    done(null, { domainPrefix });
  }
}
