import { jwtVerify, SignJWT } from "jose";

const key = () => new TextEncoder().encode(process.env.SESSION_SECRET);
const isHttps = () => process.env.RETAIL_POS_REDIRECT_URI?.startsWith("https:");
const cookieName = () => (isHttps() ? "__Host-session" : "session"); // no other host of your domain can set it

/** Remembers the store that logged in, and sends the browser on. */
export async function remember(store: string, location: string): Promise<Response> {
  const token = await new SignJWT({ store })
    .setProtectedHeader({ alg: "HS256" })
    .setExpirationTime("14d")
    .sign(key());
  const attributes = `Path=/; Max-Age=1209600; HttpOnly; SameSite=Lax${isHttps() ? "; Secure" : ""}`;
  const cookie = `${cookieName()}=${token}; ${attributes}`;
  return new Response(null, { status: 303, headers: { location, "set-cookie": cookie } });
}

/** The store that is logged in, if one is. */
export async function storeIn({ headers }: { headers: Pick<Headers, "get"> }): Promise<string | undefined> {
  const cookies = (headers.get("cookie") ?? "").split("; ");
  const [, token = ""] = cookies.find((cookie) => cookie.startsWith(`${cookieName()}=`))?.split("=") ?? [];
  const session = await jwtVerify(token, key(), { algorithms: ["HS256"] }).catch(() => undefined);
  const store = session?.payload.store;
  return typeof store === "string" ? store : undefined;
}
