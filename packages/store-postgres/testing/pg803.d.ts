/** The oldest pg that package.json allows, installed beside the newest under a name of its own. */
declare module "pg803" {
  import pg from "pg";

  export default pg;
}
