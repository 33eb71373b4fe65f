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

const SHORTEST_PASSWORD = 12;
const LONGEST_PASSWORD = 200;

/** Signing up, logging in and logging out. Nothing here knows of stores. */
export function accountRoutes(people: InstanceType<typeof passport.Passport>, records: Records): Router {
  people.serializeUser((person, done) => done(null, person.id));
  people.deserializeUser((id: string, done) => done(null, records.person(id) ?? false));

  const router = Router();
  router.use(people.session(), (req, res, next) => {
    res.locals["person"] = req.user; // for the head of every page
    next();
  });
  router.use(["/log-in", "/sign-up"], strangersOnly, express.urlencoded({ extended: false, limit: "10kb" }));
  router.get(["/log-in", "/sign-up"], (_req, res) => showForm(res));
  // An office may share an address. Who guesses elsewhere must not lock anybody out.
  const perAddress = limitTo(50, { keyGenerator: addressOf });
  const perAccount = limitTo(10, {
    keyGenerator: (req) => `${addressOf(req)} ${req.body.email}`,
    skipSuccessfulRequests: true,
  });
  router.post("/log-in", perAddress, wellFormed, perAccount, async (req, res, next) => {
    const { email, password } = req.body;
    const found = records.personByEmail(email);
    if (!(await isPassword(password, found?.password)) || !found)
      return showForm(res.status(401), email, "That address and that password do not belong together.");
    req.logIn(found, (error) => (error ? next(error) : res.redirect(303, "/stores")));
  });
  router.post("/sign-up", perAddress, wellFormed, async (req, res, next) => {
    const { email, password } = req.body;
    const person = records.addPerson(email, await hashOf(password));
    if (!person)
      return showForm(res.status(409), email, "That address has an account already. Log in with it.");
    req.logIn(person, (error) => (error ? next(error) : res.redirect(303, "/stores")));
  });
  router.post("/log-out", requireLogin, (req, res, next) => {
    req.logout((error) => (error ? next(error) : res.redirect(303, "/")));
  });
  return router;
}

/** Whose attempts count together. Some proxies write the port of the connection, too: `203.0.113.7:40000`. */
function addressOf({ ip = "" }: Request): string {
  const [, v6, v4] = /^(?:\[(.+)\]|([\d.]+))(?::\d+)?$/.exec(ip) ?? [];
  return ipKeyGenerator(v6 ?? v4 ?? ip);
}

export const requireLogin: RequestHandler = (req, res, next) => (req.user ? next() : res.redirect("/log-in"));
const strangersOnly: RequestHandler = (req, res, next) => (req.user ? res.redirect("/stores") : next());

const limitTo = (limit: number, more: Partial<Options> = {}) =>
  rateLimit({
    windowMs: 15 * 60_000,
    limit,
    handler: (_req, res) => showProblem(res.status(429), "too_many_attempts"),
    ...more,
  });

/** A form from anybody: two texts, and nothing else of what it may hold. */
const wellFormed: RequestHandler = (req, res, next) => {
  const email = textOf(req.body?.email).trim().toLowerCase();
  const password = textOf(req.body?.password);
  if (email.length > 254 || !/^[^\s@\0]+@[^\s@\0]+$/.test(email))
    return showForm(res.status(400), "", "That is no e-mail address.");
  const shortest = req.path === "/sign-up" ? SHORTEST_PASSWORD : 1;
  const lengths = `A password has ${SHORTEST_PASSWORD} to ${LONGEST_PASSWORD} characters.`;
  if (password.length < shortest || password.length > LONGEST_PASSWORD)
    return showForm(res.status(400), email, lengths);
  req.body = { email, password };
  next();
};

const textOf = (value: unknown) => (typeof value === "string" ? value : "");

function showForm(res: Response, email = "", problem = ""): void {
  res.render("account", { isNew: res.req.path === "/sign-up", email, problem, shortest: SHORTEST_PASSWORD });
}

/** Node has four threads for such work. Two stay free for DNS and files, which renewals need. */
const twoAtOnce = pLimit(2);

// Letters can be put together in two ways, and keyboards differ.
const hashOf = (password: string) => twoAtOnce(() => hash(password.normalize("NFKC")));

/** Takes as long if there is no such person, so that its answer does not tell who has an account. */
const isPassword = (password: string, hashed = OF_NO_PERSON) =>
  twoAtOnce(() => verify(hashed, password.normalize("NFKC")));

const OF_NO_PERSON = await hashOf(crypto.randomUUID());
