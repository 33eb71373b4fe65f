import express, {
  type NextFunction,
  type Request,
  type RequestHandler,
  type Response,
  Router,
} from "express";
import type passport from "passport";
import { Strategy as LocalStrategy } from "passport-local";
import { attempts } from "./attempts.js";
import { hashPassword, isPassword } from "./passwords.js";
import type { Person, Records } from "./records.js";

declare global {
  namespace Express {
    /** Who is logged in: somebody with an account of ours, whichever stores they have. */
    interface User extends Person {
      readonly loginId?: string;
    }
  }
}

/** The session's cookie. On https its name has a prefix with which no other subdomain can plant one. */
export function sessionCookie(redirectUri: string) {
  const isHttps = redirectUri.startsWith("https:");
  return { name: isHttps ? "__Host-many-stores" : "many-stores", secure: isHttps };
}
/** Then everybody logs in again. */
export const LONGEST_LOGIN_MS = 14 * 24 * 60 * 60_000;

const LONGEST_EMAIL = 254;
const SHORTEST_PASSWORD = 12;
const LONGEST_PASSWORD = 200;

/** Signing up, logging in and logging out. Nothing here knows of stores. */
export function accountRoutes(
  people: InstanceType<typeof passport.Passport>,
  records: Records,
  cookie: ReturnType<typeof sessionCookie>,
  clock = Date.now,
): Router {
  const tries = attempts(records, clock);

  people.use(
    // Not an async function: nobody waits for its promise, and a rejection would end the process.
    new LocalStrategy({ usernameField: "email" }, (email, password, done) => {
      personWith(email, password).then((person) => done(null, person), done);
    }),
  );
  people.serializeUser((person, done) => {
    records.addLogin(person.id, clock() + LONGEST_LOGIN_MS).then((id) => done(null, id), done);
  });
  people.deserializeUser((loginId: string, done) => {
    const found = records.personOfLogin(loginId, clock());
    found.then((person) => done(null, person ? { ...person, loginId } : false), done);
  });

  const router = Router();
  router.use(people.session());
  router.use((req, res, next) => {
    res.locals["person"] = req.user;
    next();
  });
  // Whoever is logged in logs out first: a store that they are connecting would end up in another account.
  router.use(["/log-in", "/sign-up"], strangersOnly, express.urlencoded({ extended: false, limit: "10kb" }));
  router.get("/log-in", (_req, res) => showForm(res, "log-in"));
  router.get("/sign-up", (_req, res) => showForm(res, "sign-up"));
  router.post("/log-in", wellFormed("log-in"), logIn);
  router.post("/sign-up", wellFormed("sign-up"), signUp);
  router.post("/log-out", logOut);
  return router;

  async function personWith(email: string, password: string): Promise<Person | false> {
    const found = await records.personByEmail(email);
    return (await isPassword(password, found?.password)) && found ? found.person : false;
  }

  async function logIn(req: Request, res: Response, next: NextFunction): Promise<void> {
    const { email } = req.body as Form;
    await tries.count(addressOf(req), email);
    const finish = async (error: unknown, person?: Person | false) => {
      if (error) return next(error);
      if (!person) return showForm(res.status(401), "log-in", email, WRONG);
      await tries.forget(addressOf(req), email);
      enter(req, res, next, person);
    };
    people.authenticate("local", (...answer: Parameters<typeof finish>) => {
      finish(...answer).catch(next);
    })(req, res, next);
  }

  async function signUp(req: Request, res: Response, next: NextFunction): Promise<void> {
    const { email, password } = req.body as Form;
    await tries.count(addressOf(req));
    const person = await records.addPerson(email, await hashPassword(password), clock());
    if (!person) showForm(res.status(409), "sign-up", email, TAKEN);
    else enter(req, res, next, person);
  }

  /** Nothing of the session is left, a login with a store that is under way neither. */
  async function logOut(req: Request, res: Response, next: NextFunction): Promise<void> {
    // First the login: a request beside this one may write the session back after it is gone.
    if (req.user?.loginId !== undefined) await records.removeLogin(req.user.loginId);
    req.session.destroy((error) => {
      if (error) return next(error);
      res.clearCookie(cookie.name, { secure: cookie.secure });
      res.redirect(303, "/");
    });
  }
}

/** Lets nobody through who is not logged in. */
export const requireLogin: RequestHandler = (req, res, next) => {
  if (req.user) next();
  else res.redirect("/log-in");
};

const strangersOnly: RequestHandler = (req, res, next) => {
  if (req.user) res.redirect("/stores");
  else next();
};

interface Form {
  email: string;
  password: string;
}

/** A form from anybody: two texts, and nothing else of what it may hold. */
function wellFormed(page: Page): RequestHandler {
  return (req, res, next) => {
    const { email: given, password } = { ...(req.body as Record<string, unknown> | undefined) };
    const email = typeof given === "string" ? given.trim().toLowerCase() : "";
    if (email.length > LONGEST_EMAIL || !/^[^\s@\0]+@[^\s@\0]+$/.test(email))
      return showForm(res.status(400), page, "", "That is no e-mail address.");
    const least = page === "sign-up" ? SHORTEST_PASSWORD : 1;
    if (typeof password !== "string" || password.length < least || password.length > LONGEST_PASSWORD)
      return showForm(res.status(400), page, email, page === "sign-up" ? TOO_SHORT : WRONG);
    req.body = { email, password } satisfies Form;
    next();
  };
}

type Page = "log-in" | "sign-up";

const WRONG = "That e-mail address and that password do not belong together.";
const TAKEN = "There is an account with this e-mail address already. Log in with it.";
const TOO_SHORT = `The password needs at least ${SHORTEST_PASSWORD} characters. Several words are a good one.`;

function showForm(res: Response, page: Page, email = "", problem = ""): void {
  res.render(page, { email, problem, shortest: SHORTEST_PASSWORD });
}

const addressOf = (req: Request): string => req.ip ?? "unknown";

/** Passport gives the session a new id. */
function enter(req: Request, res: Response, next: NextFunction, person: Person): void {
  req.logIn(person, (error) => (error ? next(error) : res.redirect(303, "/stores")));
}
