// Read by tsc alone, in `pnpm types`: whatever stands here holds if it compiles. Nothing of it is ever run.

import { type RetailPos, retailPos, type TokenSet } from "@retail-pos/core";
import type { Request } from "express";
import passport from "passport";
import type OAuth2Strategy from "passport-oauth2";
import { expectTypeOf } from "vitest";
import Default, {
  type LoginOptions,
  type RetailPosLogin,
  type RetailPosProfile,
  RetailPosStrategy,
  type RetailPosStrategyOptions,
  type StateStore,
  Strategy,
  type TokenParams,
  type VerifyDone,
} from "../src/index.js";

const application = {
  authUrl: "https://login.example.com",
  baseUrl: "https://{domain_prefix}.example.com",
  clientID: "the-application",
  clientSecret: "the-client-secret",
  callbackURL: "https://app.example.net/callback",
};
const client = retailPos({
  authUrl: application.authUrl,
  baseUrl: application.baseUrl,
  clientId: application.clientID,
  clientSecret: application.clientSecret,
  redirectUri: application.callbackURL,
});
const user = { domainPrefix: "shop" } as Express.User;

export const types = {
  "the login style of verify needs no annotation": {
    "(login)"() {
      new RetailPosStrategy(application, (login) => {
        expectTypeOf(login).toEqualTypeOf<RetailPosLogin>();
        expectTypeOf(login.tokens).toEqualTypeOf<TokenSet>();
        expectTypeOf(login.tokens.access.expiresAt).toEqualTypeOf<number | undefined>();
        expectTypeOf(login.domainPrefix).toExtend<string>();
        expectTypeOf(login.params).toEqualTypeOf<TokenParams>();
        expectTypeOf(login.profile).toEqualTypeOf<RetailPosProfile>();
        return user;
      });
    },

    "async (login), which may find nobody"() {
      new RetailPosStrategy(application, async (login) => {
        expectTypeOf(login).toEqualTypeOf<RetailPosLogin>();
        return login.domainPrefix === "shop" ? user : undefined;
      });
      new RetailPosStrategy(application, async ({ domainPrefix }) => ({ domainPrefix }));
      new RetailPosStrategy(application, async () => null);
      new RetailPosStrategy(application, async () => false as const);
    },

    "(login, done)"() {
      new RetailPosStrategy(application, (login, done) => {
        expectTypeOf(login).toEqualTypeOf<RetailPosLogin>();
        expectTypeOf(done).toEqualTypeOf<VerifyDone>();
        done(null, user);
        done(null, false, { message: "not here" });
        done(new Error("the database is gone"));
      });
    },

    "(req, login) and (req, login, done)"() {
      new RetailPosStrategy({ ...application, passReqToCallback: true }, (req, login) => {
        expectTypeOf(req).toEqualTypeOf<Request>();
        expectTypeOf(login).toEqualTypeOf<RetailPosLogin>();
        return user;
      });
      new RetailPosStrategy({ client, passReqToCallback: true }, (req, login, done) => {
        expectTypeOf(req).toEqualTypeOf<Request>();
        expectTypeOf(login).toEqualTypeOf<RetailPosLogin>();
        expectTypeOf(done).toEqualTypeOf<VerifyDone>();
      });
    },
  },

  // TypeScript types a lambda's parameters by the first overload alone, so the longer styles say theirs,
  // as with every other Passport strategy.
  "the styles of passport-oauth2 are accepted as they are written there": {
    "(accessToken, refreshToken, profile, done), also as an async function"() {
      new RetailPosStrategy(
        application,
        (_accessToken: string, _refreshToken: string, profile: RetailPosProfile, done: VerifyDone) =>
          done(null, { domainPrefix: profile.id } as Express.User),
      );
      new RetailPosStrategy(
        application,
        async (_accessToken: string, _refreshToken: string, _profile: unknown, done: VerifyDone) =>
          done(null, user),
      );
    },

    "(accessToken, refreshToken, params, profile, done)"() {
      new RetailPosStrategy(
        application,
        (_a: string, _r: string, params: TokenParams, _p: RetailPosProfile, done: VerifyDone) =>
          done(null, params.expires_in === undefined ? false : user),
      );
    },

    "with the done of passport-oauth2's own types"() {
      new RetailPosStrategy(
        application,
        (_a: string, _r: string, _p: unknown, done: OAuth2Strategy.VerifyCallback) => done(null, user),
      );
    },

    "with the request first"() {
      const options = { client, passReqToCallback: true } as const;
      new RetailPosStrategy(
        options,
        (req: Request, _a: string, _r: string, _p: RetailPosProfile, done: VerifyDone) =>
          done(null, req.user),
      );
      new RetailPosStrategy(
        options,
        (
          req: Request,
          _a: string,
          _r: string,
          _params: TokenParams,
          _p: RetailPosProfile,
          done: VerifyDone,
        ) => done(null, req.user),
      );
    },

    "but not with a parameter of another type"() {
      const wrong = () =>
        // @ts-expect-error the access token is a text
        new RetailPosStrategy(application, (_a: number, _r: string, _p: unknown, _done: VerifyDone) => {});
      expectTypeOf(wrong).toBeFunction();
    },
  },

  "what surrounds it is typed too": {
    "the class under its three names, as a Passport strategy"() {
      expectTypeOf(Default).toEqualTypeOf<typeof RetailPosStrategy>();
      expectTypeOf(Strategy).toEqualTypeOf<typeof RetailPosStrategy>();
      expectTypeOf<RetailPosStrategy>().toExtend<OAuth2Strategy>();
      expectTypeOf<RetailPosStrategy["client"]>().toEqualTypeOf<RetailPos>();
      passport.use(new Default({ client }, () => user));
    },

    "req.authInfo?.state, once the package is imported"() {
      expectTypeOf<Request["authInfo"]>().toEqualTypeOf<Express.AuthInfo | undefined>();
      expectTypeOf<Express.AuthInfo["state"]>().toEqualTypeOf<unknown>();
    },

    "the profile and the params"() {
      expectTypeOf<RetailPosProfile["provider"]>().toEqualTypeOf<"retail-pos">();
      expectTypeOf<TokenParams["domain_prefix"]>().toExtend<string>();
      expectTypeOf<TokenParams>().not.toHaveProperty("refresh_token");
    },

    "the options: a client, or what a client is made of"() {
      expectTypeOf<{ client: RetailPos }>().toExtend<RetailPosStrategyOptions>();
      expectTypeOf<typeof application>().toExtend<RetailPosStrategyOptions>();
      // @ts-expect-error the secret is missing
      const noSecret = (): RetailPosStrategyOptions => ({ ...application, clientSecret: undefined });
      // @ts-expect-error state is always on
      const noState = (): RetailPosStrategyOptions => ({ ...application, state: false });
      // @ts-expect-error in the strategy's options `store` is a state store
      const noStates = (): RetailPosStrategyOptions => ({ client, store: { load, save, remove } });
      expectTypeOf([noSecret, noState, noStates]).toBeArray();
    },

    "a state store of passport-oauth2's own shapes"() {
      expectTypeOf<OAuth2Strategy.StateStore>().toExtend<StateStore>();
      expectTypeOf<{
        store(req: Request, verifier: string, state: unknown, meta: object, done: () => void): void;
        verify(req: Request, state: string, done: () => void): void;
      }>().toExtend<StateStore>();
    },

    "verify may not be synchronous nonsense"() {
      // @ts-expect-error a number is no user
      const wrong = () => new RetailPosStrategy({ client }, () => 7);
      expectTypeOf(wrong).toBeFunction();
    },
  },

  "what one login may be given fits passport.authenticate": {
    "state of any shape, callbackURL and scope, as Passport types its options"() {
      expectTypeOf<LoginOptions["state"]>().toEqualTypeOf<unknown>();
      expectTypeOf<LoginOptions["callbackURL"]>().toEqualTypeOf<string | undefined>();
      passport.authenticate("retail-pos", { state: "abc", scope: ["one"], session: false });
      passport.authenticate("retail-pos", { state: { cart: 7 } });
      passport.authenticate("retail-pos", { callbackURL: "https://app.example.net/other" });
    },

    "by an instance, under another name, in a list; and the same for authorize"() {
      const strategy = new Default({ client }, () => user);
      for (const act of [passport.authenticate, passport.authorize])
        for (const which of ["retail-pos", "retail-pos-connect", strategy, ["retail-pos", strategy]])
          expectTypeOf(act).toBeCallableWith(which, { state: {}, callbackURL: "/other", session: false });
      passport.authorize("retail-pos", { state: {} });
      passport.authorize("retail-pos", { callbackURL: "https://app.example.net/other" });
      passport.authorize(strategy, { state: { cart: 7 }, scope: "one" });
      passport.authorize("retail-pos-connect", { state: 7 }, (_error: unknown, _user) => {});
      passport.authorize(["retail-pos", "other"], { state: null });
      passport.authenticate(["retail-pos", strategy], { state: [] });
      // @ts-expect-error a callback URL is a text
      const wrong = () => passport.authorize("retail-pos", { callbackURL: 7 });
      expectTypeOf(wrong).toBeFunction();
    },
  },
};

async function load(): Promise<undefined> {}
async function save(): Promise<boolean> {
  return true;
}
async function remove(): Promise<void> {}
