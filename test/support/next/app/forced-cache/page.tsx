export { default } from "../search/page";

export const fetchCache = "force-cache";
