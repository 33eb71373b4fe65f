import { hash, verify } from "@node-rs/argon2";
import express, { type Request, type RequestHandler, type Response, Router } from "express";
import { ipKeyGenerator, type Options, rateLimit } from "express-rate-limit";
import pLimit from "p-limit";
import type passport from "passport";
import { showProblem } from "./problem-page.js";
import type { Person, Records } from "./records.js";

declare global {
  namespace Express {
    /** Who is logged in: somebody with an account of ours, whichever stores they have. */
    interface User extends Person {}
  }
}

/** After this, everybody logs in again. */
export const LONGEST_LOGIN_MS = 14 * 24 * 60 * 60_000;
const SHORTEST_PASSWORD = 12;
const LONGEST_PASSWORD = 200;

const TAKEN = "That address has an account already. Log in with it.";
const WRONG = "That address and that password do not belong together.";

/** Signing up, logging in and logging out. Nothing here knows of stores. */
export function accountRoutes(
  people: InstanceType<typeof passport.Passport>,
  records: Records,
  cookie: { name: string; secure: boolean },
): Router {
  people.serializeUser((person, done) => done(null, person.id));
  people.deserializeUser((id: string, done) => done(null, records.person(id) ?? false));

  const router = Router();
  router.use(people.session(), (req, res, next) => {
    res.locals["person"] = req.user;
    next();
  });
  // Log out first: a store that is being connected would end up in another account.
  router.use(["/log-in", "/sign-up"], strangersOnly, express.urlencoded({ extended: false, limit: "10kb" }));
  router.get(["/log-in", "/sign-up"], (_req, res) => showForm(res));
  // An office may share an address. Who guesses elsewhere must not lock anybody out.
  const perAddress = limitTo(50, { keyGenerator: (req) => addressOf(req) });
  const perAccount = limitTo(10, {
    keyGenerator: (req) => `${addressOf(req)} ${req.body.email}`,
    skipSuccessfulRequests: true,
  });
  router.post("/log-in", perAddress, wellFormed, perAccount, async (req, res, next) => {
    const { email, password } = req.body as Form;
    const found = records.personByEmail(email);
    if (!(await isPassword(password, found?.password)) || !found)
      return showForm(res.status(401), email, WRONG);
    req.logIn(found, (error) => (error ? next(error) : res.redirect(303, "/stores")));
  });
  router.post("/sign-up", perAddress, wellFormed, async (req, res, next) => {
    const { email, password } = req.body as Form;
    const person = records.addPerson(email, await hashOf(password));
    if (!person) return showForm(res.status(409), email, TAKEN);
    req.logIn(person, (error) => (error ? next(error) : res.redirect(303, "/stores")));
  });
  router.post("/log-out", (req, res, next) => {
    req.session.destroy((error) => {
      if (error) return next(error);
      res.clearCookie(cookie.name, { secure: cookie.secure }).redirect(303, "/");
    });
  });
  return router;
}

export const requireLogin: RequestHandler = (req, res, next) => (req.user ? next() : res.redirect("/log-in"));

const strangersOnly: RequestHandler = (req, res, next) => (req.user ? res.redirect("/stores") : next());

const limitTo = (limit: number, more: Partial<Options>) =>
  rateLimit({
    windowMs: 15 * 60_000,
    limit,
    standardHeaders: "draft-8",
    legacyHeaders: false,
    handler: (_req, res) => showProblem(res.status(429), "too_many_attempts"),
    ...more,
  });

/** One person has all addresses of an IPv6 network. */
const addressOf = ({ ip = "" }: Request) => ipKeyGenerator(ip, 64);

interface Form {
  email: string;
  password: string;
}

/** A form from anybody: two texts, and nothing else of what it may hold. */
const wellFormed: RequestHandler = (req, res, next) => {
  const { email: given, password } = Object(req.body) as Record<string, unknown>;
  const email = typeof given === "string" ? given.trim().toLowerCase() : "";
  if (email.length > 254 || !/^[^\s@\0]+@[^\s@\0]+$/.test(email))
    return showForm(res.status(400), "", "That is no e-mail address.");
  const length = typeof password === "string" ? password.length : 0;
  if (length < (req.path === "/sign-up" ? SHORTEST_PASSWORD : 1) || length > LONGEST_PASSWORD)
    return showForm(
      res.status(400),
      email,
      `A password has ${SHORTEST_PASSWORD} to ${LONGEST_PASSWORD} characters.`,
    );
  req.body = { email, password };
  next();
};

function showForm(res: Response, email = "", problem = ""): void {
  const isNew = res.req.path === "/sign-up";
  res.render("account", { isNew, email, problem, shortest: SHORTEST_PASSWORD });
}

/** Node has four threads for such work. Two stay free for DNS and files, which renewals need. */
const twoAtOnce = pLimit(2);

// Letters can be put together in two ways, and keyboards differ.
const hashOf = (password: string) => twoAtOnce(() => hash(password.normalize("NFKC")));

/** Takes as long if there is no such person, so that its answer does not tell who has an account. */
async function isPassword(password: string, hashed = OF_NO_PERSON): Promise<boolean> {
  return twoAtOnce(() => verify(hashed, password.normalize("NFKC")));
}

const OF_NO_PERSON = await hashOf(crypto.randomUUID());
