export { default } from "../search/page";

export const fetchCache = "default-cache";
