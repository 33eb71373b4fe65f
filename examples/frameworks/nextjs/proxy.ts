import { type NextRequest, NextResponse } from "next/server";
import { storeIn } from "./lib/session";

export async function proxy(request: NextRequest) {
  if (!(await storeIn(request))) return NextResponse.redirect(new URL("/auth/retail-pos", request.url));
}

export const config = { matcher: "/products/:path*" };
