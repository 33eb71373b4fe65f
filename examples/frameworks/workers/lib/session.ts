import { jwtVerify, SignJWT } from "jose";

const key = () => new TextEncoder().encode(process.env.SESSION_SECRET?.match(/.{32,}/)?.[0]); // else empty
const isHttps = () => process.env.RETAIL_POS_REDIRECT_URI?.startsWith("https:");
const cookieName = () => (isHttps() ? "__Host-session" : "session"); // no other host of your domain can set it

/** Remembers the store that logged in, or forgets it (`undefined`), and sends the browser on. */
export async function remember(store: string | undefined, location: string): Promise<Response> {
  if (key().length === 0) throw new TypeError("SESSION_SECRET must be 32 characters or more");
  const jwt = new SignJWT({ store }).setProtectedHeader({ alg: "HS256" }).setExpirationTime("14d");
  const value = store ? `${await jwt.sign(key())}; Max-Age=1209600` : "; Max-Age=0";
  const cookie = `${cookieName()}=${value}; Path=/; HttpOnly; SameSite=Lax${isHttps() ? "; Secure" : ""}`;
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
