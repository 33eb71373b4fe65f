export { ApiCall as default } from "../api-call";
