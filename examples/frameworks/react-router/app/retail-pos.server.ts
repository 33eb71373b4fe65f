import { isRetailPosError, type RetailPos, retailPos, settingsFromEnv } from "@retail-pos/core";
import { webLogin } from "@retail-pos/login";
import { createCookieSessionStorage, redirect, redirectDocument } from "react-router";

declare global {
  var retailPosOfThisProcess: RetailPos | undefined;
}

// `react-router dev` runs this file again after each edit: the client stays, and with it the tokens in its memory.
globalThis.retailPosOfThisProcess ??= retailPos(settingsFromEnv());
const client = globalThis.retailPosOfThisProcess;

const { SESSION_SECRET: secret = "", RETAIL_POS_REDIRECT_URI = "" } = process.env;
if (secret.length < 32) throw new TypeError("SESSION_SECRET must be 32 characters or more");
const secure = RETAIL_POS_REDIRECT_URI.startsWith("https:");
const name = secure ? "__Host-session" : "session"; // no other host of your domain can set it
const sessions = createCookieSessionStorage<{ store: string }>({
  cookie: { name, secrets: [secret], httpOnly: true, sameSite: "lax", path: "/", maxAge: 1_209_600, secure },
});

// log in with store
export const login = webLogin({
  client,
  async onLogin({ login }) {
    const session = await sessions.getSession();
    session.set("store", login.domainPrefix);
    return redirect("/products", { headers: { "set-cookie": await sessions.commitSession(session) } });
  },
});

/** For loaders and actions: leads to the login if no store is logged in, or if only another login helps. */
export async function callApi(request: Request, path: string, init?: RequestInit): Promise<Response> {
  // call the API
  const session = await sessions.getSession(request.headers.get("cookie"));
  const store = session.get("store");
  if (!store) throw redirectDocument("/auth/retail-pos");
  try {
    return await client.retailer(store).fetch(path, init);
  } catch (error) {
    if (!isRetailPosError(error)) throw error;
    throw error.status === 401 ? redirectDocument("/auth/retail-pos") : error.getResponse();
  }
}
