declare module "workerd" {
  /** Where the runtime is. */
  const path: string;
  export default path;
}
