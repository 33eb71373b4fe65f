/** Passport 0.6, installed beside 0.7 under a name of its own. */
declare module "passport06" {
  import passport from "passport";

  export default passport;
}
