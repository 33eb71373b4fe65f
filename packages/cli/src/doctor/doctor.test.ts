import { expect, test } from "vitest";
import { type LoginAppSettings, loginApp, loginByHand } from "../../testing/login-app.js";
import { virtualTime } from "../../testing/virtual-time.js";
import { diagnose as diagnoseInTime } from "./doctor.js";
import type { Finding, Group } from "./findings/finding.js";
import type { Target } from "./probe.js";

const store = "harbour-coffee";
const diagnose = (target: Target) => diagnoseInTime({ time: virtualTime(), ...target });
const strategy = { store: "session" };

test("an application whose login is right comes out clean, and nothing of the service was used up", async () => {
  const { url, callback, sandbox } = await loginApp();
  const groups = await diagnose({ url, callback });
  expect(troublesOf(groups)).toEqual([]);
  expect(groups.map(({ title }) => title)).toEqual([
    "Login route",
    "Authorization request",
    "Service",
    "Cookies",
    "Callback route",
    "Login that comes back",
  ]);
  expect(sandbox.tokenRequests()).toEqual([]);
});

test("a login route that redirects within the application first is followed there, with its cookies", async () => {
  const { origin, callback } = await loginApp({
    configure: (app) => {
      app.get("/start", (_req, res) => void res.cookie("seen", "1").redirect("/middle"));
      app.get("/middle", (req, res) => res.redirect(req.headers.cookie === "seen=1" ? "/login" : "/lost"));
    },
  });
  expect(troublesOf(await diagnose({ url: new URL(`${origin}/start`), callback }))).toEqual([]);
});

const logins: [name: string, settings: LoginAppSettings, message: RegExp][] = [
  [
    "is not there",
    { configure: (app) => app.all("/login", (_req, res) => void res.sendStatus(404)) },
    /answers 404: no route/,
  ],
  ["takes a POST alone", { login: () => (_req, res) => void res.sendStatus(405) }, /answers 405: no route/],
  ["fails", { cookie: false, strategy }, /answers 500: starting a login fails/],
  ["demands a login", { login: () => (_req, res) => void res.sendStatus(401) }, /answers 401: .* closed/],
  ["is a page", { login: () => (_req, res) => void res.send("<h1>Log in</h1>") }, /answers 200 with a page/],
  [
    "redirects to a login page of the application's own",
    {
      configure: (app) => app.get("/sign-in", (_req, res) => void res.send("<form>")),
      login: () => (_req, res) => res.redirect("/sign-in?next=/login"),
    },
    /redirects to http:\/\/localhost:\d+\/sign-in, which answers 200 with a page/,
  ],
  ["redirects to itself", { login: () => (_req, res) => res.redirect("/login") }, /from page to page/],
  [
    "redirects to nowhere",
    { login: () => (_req, res) => void res.status(302).end() },
    /without a usable Location/,
  ],
  [
    "redirects to something that is no web page",
    { login: () => (_req, res) => res.redirect("mailto:a@example.com") },
    /mailto: is no address of a web page/,
  ],
];

test.each(logins)(
  "a login route that %s is the one problem, and nothing else is guessed at",
  async (_name, settings, message) => {
    const { url } = await loginApp(settings);
    expect(troublesOf(await diagnose({ url }))).toEqual([trouble("problem", "login-route", message)]);
  },
);

test("an application that is not running is the one problem", async () => {
  const { url, close } = await loginApp();
  await close();
  const found = troublesOf(await diagnose({ url }));
  expect(found).toEqual([trouble("problem", "login-route", /nothing listens at http:\/\/localhost/)]);
});

type Expected = ["problem" | "warning", check: string, message: RegExp];
const applications: [name: string, settings: LoginAppSettings, ...expected: Expected[]][] = [
  [
    "redirects to a wrong path of the service",
    { login: ({ authUrl }) => loginByHand(() => ({}))({ authUrl: `${authUrl}/oauth`, callback: "" }) },
    ["problem", "authorization-request", /no redirect_uri/],
    ["problem", "consent-page", /\/oauth\/connect answers 404/],
  ],
  [
    "redirects to another endpoint",
    { login: loginByHand(() => ({}), "authorize") },
    ["problem", "login-route", /\/authorize; the consent page is \{auth_url\}\/connect/],
    ["problem", "consent-page", /answers 404/],
  ],
  [
    "sends no parameter but a state",
    {
      login: loginByHand(() => ({ response_type: undefined, client_id: undefined, redirect_uri: undefined })),
    },
    ["problem", "authorization-request", /no response_type and no client_id and no redirect_uri/],
    ["problem", "consent-page", /answers 400/],
  ],
  [
    "asks for a token instead of a code",
    { login: loginByHand(() => ({ response_type: "token" })) },
    ["problem", "authorization-request", /response_type is "token"/],
    ["problem", "consent-page", /answers 400/],
  ],
  [
    "shows its client secret",
    { login: loginByHand(() => ({ client_secret: "canary-secret" })) },
    ["problem", "client-secret-shown", /carries the client secret/],
  ],
  [
    "sends no state",
    { login: loginByHand(() => ({ state: undefined })) },
    ["problem", "state", /no state/],
    ["problem", "consent-page", /answers 400/],
  ],
  [
    "sends a short state",
    { login: loginByHand(() => ({ state: Math.random().toFixed(5) })) },
    ["problem", "state", /has 7 characters/],
    ["problem", "consent-page", /answers 400/],
  ],
  [
    "sends the same state every time",
    { login: loginByHand(() => ({ state: "a-state-for-everybody" })) },
    ["problem", "state", /same state/],
  ],
  [
    "has registered another callback",
    { registered: (callback) => `${callback}/` },
    ["problem", "redirect-uri", /a slash at the end too few/],
    ["problem", "consent-page", /answers 400/],
  ],
  [
    "has no session",
    {
      cookie: false,
      login: loginByHand(() => ({})),
      callback: () => (_req, res) => void res.sendStatus(403),
    },
    ["problem", "session-cookie", /sets no cookie/],
  ],
  [
    "has a SameSite=Strict cookie",
    { cookie: { sameSite: "strict" }, strategy },
    ["problem", "cookie-same-site", /connect\.sid is SameSite=Strict/],
  ],
  [
    "has a SameSite=None cookie that is not Secure",
    { cookie: { sameSite: "none" }, strategy },
    ["problem", "cookie-same-site", /SameSite=None without Secure/],
  ],
  [
    "withholds its Secure cookie over http",
    { cookie: { secure: true }, strategy },
    ["problem", "session-cookie", /sets no cookie/],
  ],
  [
    "has a cookie for another path",
    { cookie: { path: "/login" }, strategy },
    ["problem", "cookie-path", /is for \/login and below; the callback is \/callback/],
  ],
  [
    "has a cookie for another host",
    { cookie: { domain: "example.com" }, strategy },
    ["problem", "cookie-domain", /localhost may not set/],
  ],
  [
    "counts its cookie's life in seconds where milliseconds are meant",
    { cookie: { maxAge: 3600 }, strategy },
    ["problem", "cookie-lifetime", /gone after [1-4] seconds/],
  ],
  [
    "sends the browser back to another name of this machine",
    {
      sent: (callback) => callback.replace("localhost", "127.0.0.1"),
      registered: (callback) => callback.replace("localhost", "127.0.0.1"),
    },
    ["problem", "cookie-host", /belongs to localhost; the callback is at 127\.0\.0\.1/],
  ],
  [
    "has no callback route",
    { callback: false },
    ["problem", "callback-route", /No route .* \/callback: it answers 404/],
  ],
  [
    "uses a code without checking the state",
    {
      callback: () => (req) => {
        throw new Error(`no token for ${req.query["code"]}`);
      },
    },
    ["problem", "callback-route", /forged callback ends in 500/],
  ],
  [
    "takes a forged callback for a good one",
    { callback: () => (_req, res) => void res.send("Welcome") },
    ["problem", "callback-route", /answered with 200/],
  ],
  [
    "sends everybody who fails to the login route",
    { callback: () => (_req, res) => res.redirect("/login") },
    ["warning", "callback-route", /starts another login/],
    ["warning", "own-login", /Cannot tell/],
  ],
  [
    "sends everybody who fails to the consent page",
    { callback: loginByHand(() => ({})) },
    ["problem", "callback-route", /begins a new login/],
  ],
  [
    "sends everybody to a page for logins that failed",
    { callback: () => (_req, res) => res.redirect("/login-failed") },
    ["warning", "own-login", /Cannot tell/],
  ],
  [
    "fails when somebody declines",
    { callback: () => (req, res) => void res.sendStatus(req.query["error"] ? 500 : 403) },
    ["problem", "callback-declined", /access_denied ends in 500/],
  ],
];

test.each(applications)("an application that %s", async (_name, settings, ...expected) => {
  const { url, callback, sandbox } = await loginApp(settings);
  const registered = settings.registered ? sandbox.application.redirectUri : callback;
  const found = troublesOf(await diagnose({ url, callback: registered }));
  expect(found).toEqual(expected.map((one) => trouble(...one)));
});

test("a second login that gets nowhere is a problem", async () => {
  let visits = 0;
  const first = loginByHand(() => ({}));
  const { url, callback } = await loginApp({
    login: (place) => (req, res, next) =>
      ++visits === 1 ? first(place)(req, res, next) : void res.sendStatus(503),
  });
  const found = troublesOf(await diagnose({ url, callback }));
  expect(found).toEqual([trouble("problem", "state", /second login/)]);
});

test("a service that is down is the problem, and the application is looked at all the same", async () => {
  const { url, callback, sandbox } = await loginApp();
  await sandbox.close();
  const groups = await diagnose({ url, callback });
  expect(troublesOf(groups)).toEqual([trouble("problem", "service", /nothing listens/)]);
  expect(groups.map(({ title }) => title)).toContain("Callback route");
});

test("without the registered callback it says which one to register", async () => {
  const { url, callback } = await loginApp();
  const found = findingsOf(await diagnose({ url })).find(({ check }) => check === "redirect-uri");
  expect(found).toMatchObject({ level: "skipped", message: expect.stringContaining(callback) });
});

test("the consent server and the client_id that were named are compared", async () => {
  const { url, callback, sandbox } = await loginApp();
  const right = { url, callback, authUrl: sandbox.authUrl, clientId: "sandbox-application" };
  expect(troublesOf(await diagnose(right))).toEqual([]);
  const wrong = { url, callback, authUrl: "https://login.example.com", clientId: "another" };
  expect(troublesOf(await diagnose(wrong))).toEqual([
    trouble("problem", "login-route", /the consent page is https:\/\/login\.example\.com\/connect/),
    trouble("problem", "client-id", /not "another"/),
  ]);
});

test("the client secret is the application's own: one token request tells whether it is right", async () => {
  const { url, callback, sandbox } = await loginApp();
  const found = findingsOf(await diagnose({ url, callback, domainPrefix: store }));
  expect(found.slice(-3)).toEqual([
    trouble("ok", "made-up-code", /^One login .* of harbour-coffee\.$/),
    trouble("ok", "own-login", /knows its own logins/),
    trouble("ok", "client-secret", /takes the client secret of the application/),
  ]);
  expect(sandbox.tokenRequests()).toMatchObject([
    { domainPrefix: store, grantType: "authorization_code", error: "invalid_grant" },
  ]);
});

test("without a store no code is tried, and that is said", async () => {
  const { url, callback, sandbox } = await loginApp();
  const found = findingsOf(await diagnose({ url, callback }));
  expect(found.at(-1)).toMatchObject({ level: "skipped", mend: expect.stringMatching(/name .* --store/) });
  expect(sandbox.tokenRequests()).toEqual([]);
});

function findingsOf(groups: readonly Group[]): Finding[] {
  return groups.flatMap(({ findings }) => findings);
}

/** Whatever is not well. */
function troublesOf(groups: readonly Group[]): Finding[] {
  return findingsOf(groups).filter(({ level }) => level === "problem" || level === "warning");
}

/** A finding as it should be: whoever is told of trouble is told what it does and how to mend it, in sentences. */
function trouble(level: Finding["level"], check: string, message: RegExp) {
  const sentence = expect.stringMatching(/^[A-Z].*[.]$/s);
  const advice = level === "ok" ? {} : { effect: sentence, mend: sentence };
  return { level, check, message: expect.stringMatching(message), ...advice };
}
