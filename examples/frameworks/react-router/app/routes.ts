import { type RouteConfig, route } from "@react-router/dev/routes";

export default [
  route("auth/retail-pos", "routes/login.ts"),
  route("auth/retail-pos/callback", "routes/callback.ts"),
  route("products", "routes/products.tsx"),
] satisfies RouteConfig;
