export { ApiCall as default } from "../api-call";

export const revalidate = 1;
