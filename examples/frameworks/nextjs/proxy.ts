import { type NextRequest, NextResponse } from "next/server";
import { storeIn } from "./lib/session";

export async function proxy(request: NextRequest) {
  if (request.method !== "GET" || (await storeIn(request))) return;
  return NextResponse.redirect(new URL("/auth/retail-pos", request.url));
}

export const config = {
  matcher: [{ source: "/products/:path*", missing: [{ type: "header", key: "next-router-prefetch" }] }],
};
