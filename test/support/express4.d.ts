/** Express 4, installed beside Express 5 under a name of its own. */
declare module "express4" {
  import express from "express";

  export default express;
}
