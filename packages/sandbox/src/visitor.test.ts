import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { type Sandbox, startSandbox, type Visitor } from "./index.js";

/** An application with one route for each path, beside a sandbox that knows its callback address. */
async function start(routes: Record<string, RequestListener>) {
  const server = createServer((req, res) => {
    const route = routes[new URL(req.url ?? "", "http://localhost").pathname];
    if (route) route(req, res);
    else res.writeHead(404).end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const origin = `http://localhost:${(server.address() as AddressInfo).port}`;
  const sandbox = await startSandbox({ redirectUri: `${origin}/callback` });
  onTestFinished(async () => {
    server.close();
    await sandbox.close();
  });
  return { origin, sandbox, visitor: sandbox.visitor() };
}

const redirect =
  (status: number, location: () => string): RequestListener =>
  (_req, res) =>
    void res.writeHead(status, { location: location() }).end();

/** Says what came. */
const echo: RequestListener = async (req, res) => {
  let body = "";
  for await (const chunk of req) body += chunk;
  res.end(
    JSON.stringify({ method: req.method, cookie: req.headers.cookie, body, accept: req.headers.accept }),
  );
};

function consentPage({ authUrl, application }: Sandbox, more: Record<string, string> = {}): string {
  const { clientId: client_id, redirectUri: redirect_uri } = application;
  const query = { response_type: "code", client_id, redirect_uri, state: "12345678", ...more };
  return `${authUrl}/connect?${new URLSearchParams(query)}`;
}

test("a visitor logs in: over the consent page to the callback, with the cookie of the login", async () => {
  const { sandbox, visitor, origin } = await start({
    "/login": (_req, res) =>
      res
        .writeHead(302, { location: consentPage(sandbox), "set-cookie": "login=state; Path=/; HttpOnly" })
        .end(),
    "/callback": (req, res) => {
      const url = new URL(req.url ?? "", "http://localhost");
      const [state, store] = ["state", "domain_prefix"].map((name) => url.searchParams.get(name));
      const isOurs = req.headers.cookie === "login=state" && state === "12345678";
      res.writeHead(302, { location: isOurs ? "/home" : "/stranger", "set-cookie": `store=${store}` }).end();
    },
    "/home": echo,
  });
  const home = await visitor.fetch("/login");
  expect(home.url).toBe(`${origin}/home`);
  expect(await home.json()).toMatchObject({ cookie: "login=state; store=harbour-coffee" });

  visitor.domainPrefix = "plant-room";
  await visitor.fetch("/login");
  expect(visitor.cookies.get("store")).toBe("plant-room");
  expect((await sandbox.visitor("rosas-bikes").fetch("/login")).url).toBe(`${origin}/home`);
});

test('with redirect: "manual" the redirect is the answer, and the visitor can go on from it', async () => {
  const { sandbox, visitor } = await start({
    "/login": redirect(302, () => consentPage(sandbox)),
    "/callback": echo,
  });
  const { status, headers } = await visitor.fetch("/login", { redirect: "manual" });
  expect([status, headers.get("location")]).toEqual([302, consentPage(sandbox)]);
  expect(new URL((await visitor.fetch(headers.get("location") ?? "")).url).pathname).toBe("/callback");
});

test("a request that the consent page would not show is an error with its words", async () => {
  const { sandbox, visitor } = await start({
    "/login": redirect(302, () => consentPage(sandbox, { state: "short" })),
  });
  await expect(visitor.fetch("/login")).rejects.toThrow("state must have at least 8 characters");
});

test.each([
  ["Max-Age=0", false],
  ["Max-Age=-1", false],
  ["Max-Age=60; Expires=Thu, 01 Jan 1970 00:00:00 GMT", true],
  ["Expires=Thu, 01 Jan 1970 00:00:00 GMT", false],
  ["Expires=Fri, 01 Jan 2100 00:00:00 GMT", true],
  ["Path=/; HttpOnly; SameSite=Lax", true],
])("a cookie with %s is kept: %s", async (attributes, isKept) => {
  const { visitor } = await start({
    "/set": (_req, res) => void res.writeHead(204, { "set-cookie": `name=a=b; ${attributes}` }).end(),
  });
  visitor.cookies.set("name", "of before");
  await visitor.fetch("/set");
  expect(visitor.cookies.get("name")).toBe(isKept ? "a=b" : undefined);
});

test("cookies go to the application's host only, on any port, and are taken from there only", async () => {
  const { visitor, origin } = await start({ "/": echo });
  const other = await start({
    "/": echo,
    "/set": (_req, res) => void res.writeHead(204, { "set-cookie": "theirs=1" }).end(),
  });
  visitor.cookies.set("session", "ours");
  const cookieAt = async (url: string) =>
    ((await (await visitor.fetch(url)).json()) as { cookie?: string }).cookie;
  expect(await cookieAt(`${origin}/`)).toBe("session=ours");
  expect(await cookieAt(`${other.origin}/`)).toBe("session=ours");
  const elsewhere = other.origin.replace("localhost", "127.0.0.1");
  expect(await cookieAt(`${elsewhere}/`)).toBeUndefined();
  await visitor.fetch(`${elsewhere}/set`);
  expect([...visitor.cookies.keys()]).toEqual(["session"]);
});

test.each([
  [302, "GET", ""],
  [303, "GET", ""],
  [307, "POST", "a=b"],
  [308, "POST", "a=b"],
])("a form that is answered %i is followed with %s", async (status, method, body) => {
  const { visitor } = await start({ "/form": redirect(status, () => "/after"), "/after": echo });
  const init = { method: "POST", body: "a=b", headers: { accept: "text/x" } };
  expect(await (await visitor.fetch("/form", init)).json()).toMatchObject({ method, body, accept: "text/x" });
});

test("redirects without an end are an error that shows no query, and so no code", async () => {
  const { visitor } = await start({ "/round": redirect(302, () => "/round?code=canary") });
  await expect(visitor.fetch("/round")).rejects.toThrow(
    /^Too many redirects, the last one by http:\/\/localhost:\d+\/round$/,
  );
});

test("visitors share no cookies, and cookies can be put back", async () => {
  const { visitor, sandbox } = await start({ "/": echo });
  const before = new Map([["session", "old"]]);
  visitor.cookies = before;
  const cookieOf = async (one: Visitor) =>
    ((await (await one.fetch("/")).json()) as { cookie?: string }).cookie;
  expect(await cookieOf(visitor)).toBe("session=old");
  expect(await cookieOf(sandbox.visitor())).toBeUndefined();
});

test("a visitor of a store that there is not is a TypeError", async () => {
  const { sandbox } = await start({});
  expect(() => sandbox.visitor("no-such-store")).toThrow(TypeError);
});
