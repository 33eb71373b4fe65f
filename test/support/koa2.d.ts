/** Koa 2, installed beside Koa 3 under a name of its own. */
declare module "koa2" {
  import Koa from "koa";

  export default Koa;
}
