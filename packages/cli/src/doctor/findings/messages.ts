import type { Finding, Level } from "./finding.js";

/** Everything that the doctor says. A key begins with the name of the check; `{name}` stands for a value. */
type Row = readonly [level: Level, message: string, effect: string | undefined, mend: string | undefined];

const ok = (message: string): Row => ["ok", message, undefined, undefined];
const skipped = (message: string, mend: string): Row => ["skipped", message, undefined, mend];
const warning = (message: string, effect: string, mend: string): Row => ["warning", message, effect, mend];
const problem = (message: string, effect: string, mend: string): Row => ["problem", message, effect, mend];

const BROWSER_ERROR = "The retailer sees an error page of the browser.";
const SERVICE_ERROR = "The retailer sees the service's error page instead of its consent page.";
const NEXT_ERROR = "The retailer approves, comes back, and sees the application's error page.";
const NOT_KNOWN =
  "The retailer approves, comes back, and is told that this login is unknown or did not start here.";
const FORGEABLE =
  "The retailer sees nothing, and another site can log the retailer's browser in as somebody else.";
const READABLE = "Everybody on the way between browser and server can read the login, and take its session.";
const LIMITED =
  "Wait until the limit is over, and run the doctor again; allow a login ten requests a minute.";
const NEW_STATE = "Make a new random state for every login, or let the strategy do it.";
const WITH_COOKIE = "run the doctor with the cookie of a browser that is logged in (--cookie-env)";
const COPY_SETTINGS =
  "Copy client_id and client secret again from the application's registration; mind a space or a line break at the end of the secret.";
const beforeTheDemand = (route: string) =>
  `Put ${route} before the middleware that demands a login, and outside of a password that protects the whole ` +
  "application. But if your people log in to accounts of their own and connect stores to them, leave it behind, " +
  `and ${WITH_COOKIE}.`;

export const MESSAGES: Readonly<Record<string, Row>> = {
  "login-route": ok("It redirects to the consent page, {consent}."),
  "login-route silent": problem("The login cannot be opened: {why}.", BROWSER_ERROR, "{mend}"),
  "login-route limited": warning(
    "{at} answers 429: a limit of the application's own, or of a proxy's, is reached.",
    "A retailer who logs in now is refused.",
    LIMITED,
  ),
  "login-route accounts": warning(
    "People log in to the application first, at {where}.",
    "Only people with an account reach the login with a store. What they see of it was not looked at.",
    `If people connect stores to accounts of their own, this is as it has to be: ${WITH_COOKIE}. ` +
      "If the store itself is the login, put the login route before the middleware that demands one.",
  ),
  "login-route not-logged-in": problem(
    "The cookies that were given do not open the login: {where} still asks who it is.",
    "What people with an account see was not looked at.",
    "Log in to the application in a browser, and copy the Cookie header of a request from its developer tools.",
  ),
  "login-route loop": problem(
    "It redirects from page to page and never to the consent page.",
    "The retailer sees the browser's page about too many redirects.",
    "Let the login route start the login before anything asks whether somebody is logged in.",
  ),
  "login-route missing": problem(
    "{at}: no route takes a GET there.",
    "The retailer sees a page that says not found.",
    'Give the doctor the address that your "Log in" link opens, or add the route with passport.authenticate("retail-pos").',
  ),
  "login-route failed": problem("{at}: {why}.{said}", "The retailer sees an error page.", "{mend}"),
  "login-route closed": problem(
    "{at}: the login route is closed to people who are not logged in.",
    "The retailer is refused before any login was offered.",
    beforeTheDemand("the login route"),
  ),
  "login-route no-location": problem(
    "{at}, which is a redirect without a usable Location header.",
    "The retailer sees an empty page.",
    "Let the strategy answer the login route: it sets status and Location together.",
  ),
  "login-route page": problem(
    "{at} with a page instead of a redirect to the consent page.",
    "The retailer sees a page of the application, perhaps a login form, and never the service's.",
    "Give the doctor the address that starts the login; the strategy has to answer it with a redirect.",
  ),
  "login-route other-page": problem(
    "{at} with a page instead of a redirect to the consent page.",
    "The retailer sees a page of the application, perhaps a login form, and never the service's.",
    `${beforeTheDemand("the login route")} If no such middleware redirects, give the doctor the address that ` +
      "starts the login.",
  ),
  "login-route connect-twice": problem(
    "It redirects to {consent}, with /connect twice.",
    SERVICE_ERROR,
    "Take /connect off the end of authUrl; it is appended.",
  ),
  "login-route elsewhere": problem(
    "It redirects to {consent}; the consent page is {expected}.",
    "The retailer sees an error page, or a login that is not the service's.",
    "Give the library the address of the consent server alone as authUrl; it appends /connect itself.",
  ),
  "login-transport": problem(
    "The login is served over plain http at {host}.",
    READABLE,
    "Serve the application over https; plain http is for localhost.",
  ),
  "login-cached": problem(
    "The redirect to the consent page {how}: the next login repeats an old state.",
    "The retailer's second login fails: its state was used already, or is another person's.",
    "Answer the login route with 302 and Cache-Control: no-store, and take it out of every cache in front.",
  ),

  "authorization-request": ok("response_type, client_id and redirect_uri are there, each once."),
  "authorization-request missing": problem(
    "The authorization request has no {names}.",
    SERVICE_ERROR,
    "Check that the settings reach the strategy: a setting that is undefined leaves its parameter out.",
  ),
  "authorization-request repeated": problem(
    "The authorization request has {names} more than once.",
    SERVICE_ERROR,
    "Keep authUrl free of a query; the strategy adds every parameter.",
  ),
  "authorization-request no-code": problem(
    'response_type is "{type}"; the service knows "code" alone.',
    SERVICE_ERROR,
    "Send response_type=code.",
  ),
  "client-id": problem(
    'client_id is "{sent}", not "{expected}".',
    "The retailer sees the service's error page, or is asked about another application.",
    "Check which settings the running application was started with.",
  ),
  "client-secret-shown": problem(
    "The authorization request carries the client secret, in an address.",
    "The retailer sees nothing, and has the secret in the browser's history.",
    "Remove it, and have a new client secret issued: this one is no secret any more.",
  ),
  state: ok("The state is new for every login and has {length} characters."),
  "state missing": problem("The authorization request has no state.", SERVICE_ERROR, NEW_STATE),
  "state short": problem(
    "The state has {length} characters; the service asks for {least}.",
    SERVICE_ERROR,
    NEW_STATE,
  ),
  "state alone": problem(
    "A second login, begun right after the first, did not get to the consent page.",
    "The retailer gets to the service at one time and not at another.",
    "Open the login route twice in a private window, and read the application's log.",
  ),
  "state same": problem("Two logins were sent the same state.", FORGEABLE, NEW_STATE),
  "state guessable": warning("The state can be guessed: it {how}.", FORGEABLE, NEW_STATE),
  "redirect-uri": ok("The callback address is the registered one, {address}"),
  "redirect-uri unknown": skipped(
    "The application's callback address is {address}",
    "Register exactly this, letter by letter; with --callback <registered address> the doctor compares the two.",
  ),
  "redirect-uri partial": problem(
    "The callback address {address} is not a whole one.",
    SERVICE_ERROR,
    "Configure the address in full, from https:// on, as it is registered.",
  ),
  "redirect-uri differs": problem(
    "The callback address {address} differs from the registered one in {how}.",
    SERVICE_ERROR,
    "Configure {registered} in the application, or register the other: the service compares letter by letter.",
  ),
  "redirect-uri-fragment": problem(
    "The callback address has a fragment (#).",
    SERVICE_ERROR,
    "Configure and register it without one (RFC 6749, 3.1.2).",
  ),
  "redirect-uri-query": warning(
    "The callback address has a query of its own.",
    "The retailer sees the service's error page, unless exactly this query is registered.",
    "Keep what the query says in the application's state, and send the plain address.",
  ),
  "redirect-uri-transport": problem(
    "The callback is plain http at {host}.",
    READABLE,
    "Serve the callback over https, and register that address; plain http is for localhost.",
  ),

  "consent-page": ok("The service answers this request with {status}."),
  "consent-page closed": warning(
    "The service answers this request with {status}, perhaps because a program asks.",
    "The retailer is refused, if browsers are answered the same.",
    "Open the login in a browser.",
  ),
  "consent-page missing": problem(
    "There is no consent page at this address: {at}.",
    SERVICE_ERROR,
    "Check the path of authUrl: it is what stands before /connect, and mostly it has none.",
  ),
  "consent-page refused": problem("The service refuses this request: {at}.{said}", SERVICE_ERROR, "{mend}"),
  "consent-page sent-back": problem(
    "{back}",
    "The retailer is never asked, and sees the application's page for a login that failed.",
    "Look the error up in the service's documents (RFC 6749, 4.1.2.1); mostly the application's registration does not allow this login.",
  ),
  scope: problem(
    "{back} {why}",
    "The retailer is never asked, and sees the application's page for a login that failed.",
    "{mend}",
  ),
  "service silent": problem("The service cannot be reached: {why}.", BROWSER_ERROR, "{mend}"),
  "service failing": warning(
    "The service has trouble of its own: {how}.",
    "The retailer sees an error page, of the service or of the application.",
    "Try again in a while.",
  ),
  "service-transport": problem(
    "The consent page is asked for over plain http at {host}.",
    READABLE,
    "Set authUrl to the https address of the service.",
  ),

  "session-cookie": ok("The cookie {name} comes back to the callback."),
  "session-cookie none": problem(
    "The login route sets no cookie: nothing ties the callback to this browser.",
    NOT_KNOWN,
    "Put the session middleware before the login route; and {withheld}, because session libraries withhold a Secure cookie there.",
  ),
  "session-cookie given": skipped(
    "The login sets no cookie beside those that were given; how the application sets those cannot be seen from here.",
    "In the browser's developer tools, see that the session's cookie is SameSite=Lax, for the path / and the callback's host.",
  ),
  "cookie-host account": problem(
    "The login is at {login}, and the callback at {callback}.",
    NOT_KNOWN,
    "Open the login at {origin}: to a browser, localhost and 127.0.0.1 are two hosts, and so are a name with and without www. Or let the application send a callback address with the host that people open, and register that.",
  ),
  "cookie-host": problem(
    "The cookie {name} belongs to {owner}; the callback is at {callback}.",
    "{effect}",
    "Open the login at {origin}: to a browser, localhost and 127.0.0.1 are two hosts, and so are a name with and without www.",
  ),
  "cookie-size": problem(
    "The cookie {name} has {bytes} bytes: browsers drop what has more than {most}.",
    "{effect}",
    "Keep less in the session, or keep it on the server and only its id in the cookie.",
  ),
  "cookie-secure dropped": problem(
    "The cookie {name} is Secure over http: browsers drop it.",
    "{effect}",
    "Serve the login over https, or set secure to true only where the application is served so.",
  ),
  "cookie-secure dropped-by-safari": warning(
    "The cookie {name} is Secure over http: Safari drops it.",
    "{effect}",
    "Serve the login over https, or set secure to true only where the application is served so.",
  ),
  "cookie-secure not-sent": problem(
    "The cookie {name} is Secure; the callback is plain http.",
    "{effect}",
    "Serve and register the callback over https.",
  ),
  "cookie-secure missing": warning(
    "The cookie {name} is set over https without Secure: browsers send it over plain http, too.",
    READABLE,
    'Set secure to true; behind a proxy that ends TLS, app.set("trust proxy", 1) in Express or app.proxy = true in ' +
      "Koa comes with it.",
  ),
  "cookie-same-site none": problem(
    "The cookie {name} is SameSite=None without Secure: browsers drop it.",
    "{effect}",
    "Set sameSite to lax: that is enough for a redirect from the consent page.",
  ),
  "cookie-same-site strict": problem(
    "The cookie {name} is SameSite=Strict: it stays away when another site sends the browser back.",
    "{effect}",
    "Set sameSite to lax.",
  ),
  "cookie-domain": problem(
    "The cookie {name} has a Domain or a name that {host} may not set: browsers drop it.",
    "{effect}",
    "Leave the cookie's domain unset, which makes it the host's own; a name with __Host- also needs Secure and Path=/.",
  ),
  "cookie-path": problem(
    "The cookie {name} is for {path} and below; the callback is {callback}.",
    "{effect}",
    "Set the cookie's path to /.",
  ),
  "cookie-lifetime": problem(
    "The cookie {name} is gone after {time}.",
    "{effect}",
    "Let it live 15 minutes or more; maxAge of express-session and koa-session counts milliseconds.",
  ),

  "callback-route": ok("A forged callback {how}."),
  "callback-route silent": problem("The callback cannot be reached: {why}.", BROWSER_ERROR, "{mend}"),
  "callback-route limited": warning(
    "{at} answers 429: a limit of the application's own, or of a proxy's, is reached.",
    "A retailer who logs in now is refused.",
    LIMITED,
  ),
  "callback-route missing": problem(
    "No route takes a GET at {path}: it answers {status}.",
    "The retailer approves, and sees a page that says not found.",
    'Add app.get("{path}", passport.authenticate("retail-pos", ...)), with the same path as in the callback address.',
  ),
  "callback-route failed": problem(
    "A forged callback ends in {status}.{said}",
    "A retailer whose login is too old, or who reloads the page, sees an error page.",
    "{mend}",
  ),
  "callback-route new-login": problem(
    "The callback begins a new login instead of finishing one.",
    "A retailer goes round in circles between the application and the service.",
    "Let the callback's route finish the login: check that its query reaches the application (a proxy may cut it off), and that a failed login ends on a page.",
  ),
  "callback-route damaged": problem(
    "A callback that is whole is answered as a damaged one: its query does not arrive.",
    "The retailer approves, comes back, and is told that the service's answer was damaged.",
    "Check what stands before the callback's route: a proxy may cut it off, or rename its parameters.",
  ),
  "callback-route circles": warning(
    "A forged callback starts another login at once.",
    "A retailer whose login fails goes round in circles between the application and the service.",
    "Show a page with a link to try again instead.",
  ),
  "callback-route closed": problem(
    "The callback is closed: {how}.",
    "The retailer approves, comes back, and is asked to log in to the application first.",
    beforeTheDemand("the callback's route"),
  ),
  "callback-route page": problem(
    "A forged callback is answered with {status}, as if all were well.",
    "The retailer approves, and sees a page that has nothing to do with the login.",
    "Let the strategy handle this route; and answer a login that failed with 403, or with a redirect to a page that says so.",
  ),
  "callback-route page-for-all": problem(
    "A forged callback is answered with {status}, as if all were well.",
    "The retailer approves, and sees a page that has nothing to do with the login.",
    "Every address is answered with this page, as single-page applications do: put the callback's route before that, and let the proxy or the development server pass it on to the server.",
  ),
  "callback-route unclear": skipped(
    "A forged callback {how}.",
    "Fix the problems above first; this may come from them.",
  ),
  "callback-query": problem(
    "The callback is redirected to {where}, without its query.",
    "The retailer approves, comes back, and the application finds neither code nor state.",
    "Register and configure the address that it is redirected to; or let the redirect keep the query.",
  ),
  "callback-declined": ok("Who declines is answered with {status}."),
  "callback-declined failed": problem(
    "A callback with error=access_denied ends in {status}.{said}",
    "A retailer who declines sees an error page.",
    "Handle the failure: give passport.authenticate a failureRedirect or a callback of your own.",
  ),
  "state-check": problem(
    "A callback with a state that nobody was sent has its code traded.",
    FORGEABLE,
    "Check the state before the code is used (R2): the strategy and @retail-pos/login do. client.exchange() alone does not.",
  ),
  "session-store failing": problem(
    "The session store fails: with the session's cookie the callback {how}, without it, it ends in {status}.{said}",
    NEXT_ERROR,
    "Check that the session store's database is there and reachable from the application, and listen to its errors. Let its client fail while it has no connection (commandTimeout or enableOfflineQueue: false of ioredis, disableOfflineQueue of redis).",
  ),

  "own-login": ok("The application knows its own logins when they come back."),
  "own-login unclear": warning(
    "Cannot tell whether the application knows its own logins again: it answers them as it answers a stranger.",
    `If it does not: ${NOT_KNOWN}`,
    "{how}Log in once in a browser; if that fails, look at info.code in the callback of passport.authenticate, or at the code that onFailure gets: state_unknown means that the login's cookie, or its session, is lost.",
  ),
  "own-login not-tried": skipped(
    "Whether the application knows its own logins again was not looked at.",
    "{why}",
  ),
  "session-store now-and-then": problem(
    "The application knew a login of its own {times} of {all} times.",
    NOT_KNOWN,
    "Several processes answer, each with secrets or sessions of its own: give them one client secret, one secret for the login's cookie, and one session store (Redis, a database) with one session secret.",
  ),
  "session-store sealed": problem(
    "The application does not know a login that it has just started: its cookie was sealed with another secret.",
    NOT_KNOWN,
    "Give every process, and every start, the same secret for the login's cookie: from the settings, not a random one.",
  ),
  "session-store gone": problem(
    "The application does not know a login that it has just started: its session is gone when the browser comes back.",
    NOT_KNOWN,
    "Look at the session store. Usual reasons: several processes, each with sessions in memory or with a secret of its own; a store whose database is not there, so that nothing is saved; a restart at every request.",
  ),
  "session-store": problem(
    "The application does not know a login that it has just started.",
    NOT_KNOWN,
    "Compare what stands before the login route and before the callback: one strategy with one sessionKey, one session middleware, nothing that empties the session in between; and one session store and secret for all processes.",
  ),

  "made-up-code": ok(
    "One login came back with a code that was never issued: one token request of the application's, at the token endpoint of {store}.",
  ),
  "made-up-code-answer silent": problem(
    "The application does not answer a login that comes back: {why}.",
    NEXT_ERROR,
    "Look for what never answers: the token store or its lock (a client that queues commands while its database is away), or a failure handler that sends nothing.",
  ),
  "made-up-code-answer": problem(
    "A login that comes back with a made-up code ends in {status}, as errors of the application do, instead of a refusal.{said}",
    NEXT_ERROR,
    "Read the application's log. By error.code: client_refused means client_id or client secret, token_endpoint_failed means baseUrl, store_failed the token store, rate_limited that it has to wait.",
  ),
  "client-secret code_refused": ok(
    "The service takes the client secret of the application, and refuses a code that it never issued.",
  ),
  "client-secret refused": ok(
    "The service takes the client secret of the application, unless the application refuses this retailer itself (acceptRetailer).",
  ),
  "client-secret not-tried": skipped(
    "The client secret was not tried.",
    "To have it tried, name a retailer with --store <domain_prefix>.",
  ),
  "client-secret rate_limited": warning(
    "The token endpoint is rate limited; it did not look at the client secret.",
    "A retailer who logs in now sees the application's error page, until the limit is over.",
    "Try again in some minutes.",
  ),
  "client-secret retailer_not_accepted": warning(
    "The application does not accept this retailer; its client secret was not tried.",
    "This retailer approves, comes back, and is refused; others may log in.",
    "Name a store with --store that acceptRetailer accepts.",
  ),
  "client-secret client_refused": problem(
    "The service refuses the client_id and client secret of the application.",
    NEXT_ERROR,
    COPY_SETTINGS,
  ),
  "client-secret status": problem(
    "A login that comes back with a made-up code ends in {status}, which is the status for a client secret that the service refuses.",
    NEXT_ERROR,
    `${COPY_SETTINGS} If they are right, read the application's log.`,
  ),
  "base-url": problem(
    "The application gets no answer of a token endpoint.",
    NEXT_ERROR,
    "Check baseUrl in the application: with --store's domain prefix in it, it has to be the address of that retailer, which exists. Then whether the application's machine may connect to it, and trusts its certificate.",
  ),
  "token-store": problem(
    "The application's token store, or its lock, fails.",
    NEXT_ERROR,
    "Check that the database of the token store is there, and that migrate() ran; the application's log and observe (store_failed) say more.",
  ),
};

/** A finding in the words of the table, with the values that they name. */
export function found(key: string, values: Record<string, string | number> = {}): Finding {
  const [level, message, effect, mend] = MESSAGES[key] as Row; // `messages.test.ts` looks up every key
  const filled = (text: string) =>
    text.replace(/\{(\w+)\}/g, (name, key: string) =>
      String(Object.hasOwn(values, key) ? values[key] : name),
    );
  return {
    check: key.split(" ")[0] as string,
    level,
    message: filled(message),
    ...(effect !== undefined && { effect: filled(effect) }),
    ...(mend !== undefined && { mend: filled(mend) }),
  };
}

/** What the cookie of a login is for; without it the callback belongs to nobody. */
export const LOGIN_LOST: string = NOT_KNOWN;
/** Beside the strategy's own cookie, a session's cookie is for staying logged in. */
export const SESSION_LOST = "The login succeeds, and the retailer is back at the start, logged in as nobody.";
