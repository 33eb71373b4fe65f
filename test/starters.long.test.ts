import { randomUUID } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import { request } from "node:https";
import { text } from "node:stream/consumers";
import { type Sandbox, startSandbox } from "@retail-pos/sandbox";
import { describe, expect, onTestFinished, test } from "vitest";
import type { Until } from "./support/command.js";
import { onceForEach, type Running, type Starter, starters, startStarter } from "./support/starters.js";
import { endTls, type TlsProxy } from "./support/tls-proxy.js";

// Each starter as it is deployed: its compiled program, with settings of its own, behind a proxy that ends TLS.

const store = "harbour-coffee";
const hostname = "shelfview.example";
const origin = `https://${hostname}`;
const clientSecret = "a client secret of 32 characters";
const sessionSecret = "a session secret of 32 characters";
const scope = "products:read sales:read";
const password = "four words are a password";

/** Serves all tests of a starter that need no program of their own. */
const deployed = onceForEach((starter, until) => deploy(starter, { RETAIL_POS_SCOPE: scope }, until));

test.each(starters)(
  "$name behind a proxy that ends TLS logs in, with cookies for https alone",
  async (starter) => {
    const site = visit(await deployed(starter));
    await site.logIn();
    const { status, body } = await site.open(starter.page);
    expect(status).toBe(200);
    expect(body).toContain("House espresso, 250 g");
    expect(site.cookieLines.length).toBeGreaterThan(0);
    for (const line of site.cookieLines) expect(line).toMatch(/; secure/i);
    for (const line of site.cookieLines) expect(line).toMatch(/; httponly/i);
    for (const line of site.cookieLines) expect(line).toMatch(/; samesite=lax/i);
  },
);

test.each(starters)("$name asks for the scope of its settings", async (starter) => {
  const site = visit(await deployed(starter));
  if (starter.hasAccounts) await site.enter();
  const { headers } = await site.open("/auth/retail-pos");
  expect(new URL(headers.location ?? "").searchParams.get("scope")).toBe(scope);
});

test.each(starters)("$name tells browsers in every answer what its pages may do", async (starter) => {
  const site = visit(await deployed(starter));
  await site.logIn();
  const paths = [
    starter.page,
    "/",
    "/health",
    "/ready",
    "/no/such/page",
    "/auth/retail-pos",
    "/auth/retail-pos/callback?error=access_denied",
    "/auth/retail-pos/callback?code=c&domain_prefix=evil.example%2f&state=12345678",
    ...(starter.hasPages ? ["/style.css"] : []),
  ];
  for (const path of paths) {
    const { headers } = await site.open(path);
    const policy = Object.fromEntries(
      String(headers["content-security-policy"])
        .split(";")
        .map((directive) => {
          const [name = "", ...values] = directive.trim().split(" ");
          return [name, values.join(" ")];
        }),
    );
    expect(policy, path).toEqual({
      "default-src": "'self'",
      "base-uri": "'none'",
      "form-action": `'self' ${site.authUrl}`,
      "frame-ancestors": "'none'",
      "object-src": "'none'",
    });
    expect(headers, path).toMatchObject({
      "x-content-type-options": "nosniff",
      "x-frame-options": "DENY",
      "referrer-policy": "strict-origin", // no-referrer would make browsers send `Origin: null` with our forms
    });
    expect(headers["strict-transport-security"], path).toMatch(/^max-age=\d{8,}$/);
    expect(headers, path).not.toHaveProperty("x-powered-by");
  }
});

test.each(starters)("$name has no browser keep what it shows of a store", async (starter) => {
  const site = visit(await deployed(starter));
  await site.logIn();
  for (const path of [starter.page, "/", "/no/such/page", "/auth/retail-pos/callback?error=access_denied"]) {
    const { headers } = await site.open(path);
    expect(headers["cache-control"], path).toBe("no-store");
  }
  if (!starter.hasPages) return;
  const { status, headers } = await site.open("/style.css");
  expect(status).toBe(200);
  expect(headers["cache-control"]).not.toBe("no-store");
});

describe.each(starters)("$name, asked to log somebody out,", (starter) => {
  test("refuses what a page of another site sends", async () => {
    const site = visit(await deployed(starter));
    await site.logIn();
    for (const headers of [
      { origin: "https://evil.example" },
      { origin: `http://${hostname}` },
      { origin: `${origin}:8443` },
      { origin: `https://news.${hostname}` },
      { origin: "null" },
      { origin: `${origin}, ${origin}` },
      { origin: "" },
      { "sec-fetch-site": "cross-site" },
      { "sec-fetch-site": "same-site" },
      { origin: "https://evil.example", "x-forwarded-host": "evil.example" },
    ]) {
      const answer = await site.open(starter.logOut, "POST", headers);
      expect(answer.status, JSON.stringify(headers)).toBe(403);
      expect(answer.body).toContain("from a page of another site");
      expect(answer.headers).toMatchObject({
        "cache-control": "no-store",
        "content-security-policy": expect.stringContaining("default-src 'self'"),
      });
    }
    expect((await site.open(starter.page)).status).toBe(200);
    expect((await site.open(starter.disconnect, "POST", { origin: "https://evil.example" })).status).toBe(
      403,
    );
    expect((await site.open(starter.page)).status).toBe(200);
  });

  test("does so for its own pages, and for programs", async () => {
    const site = visit(await deployed(starter));
    for (const headers of [
      { origin, "sec-fetch-site": "same-origin" },
      { origin }, // an older browser
      { "sec-fetch-site": "same-origin" }, // one that leaves out the origin
      {}, // a program
    ]) {
      await site.logIn();
      expect((await site.open(starter.page)).status).toBe(200);
      expect((await site.open(starter.logOut, "POST", headers)).status).toBeLessThan(400);
      expect((await site.open(starter.page)).status, JSON.stringify(headers)).not.toBe(200);
    }
  });
});

test.each(starters)("$name logs what happens to tokens, and no secret", async (starter) => {
  const site = visit(await deploy(starter, {}, onTestFinished));
  const callback = await site.logIn();
  await site.program.printed(/retail-pos connected store=harbour-coffee/);
  site.sandbox.expire(store);
  site.sandbox.fault(500);
  await site.open(starter.page);
  await site.program.printed(/retail-pos renewal_failed store=harbour-coffee .*\w+Error: .*harbour-coffee/);
  const output = site.program.output();
  const code = callback.searchParams.get("code") as string;
  for (const secret of [clientSecret, sessionSecret, code, password]) expect(output).not.toContain(secret);
});

test.each(starters)("$name ends with what is missing, and does not listen", async (starter) => {
  await expect(
    startStarter(starter, { RETAIL_POS_REDIRECT_URI: `${origin}/auth/retail-pos/callback` }),
  ).rejects.toThrow(/- RETAIL_POS_AUTH_URL is missing\n[\s\S]*- SESSION_SECRET is missing\n/);
});

interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

interface Deployment {
  readonly starter: Starter;
  readonly sandbox: Sandbox;
  readonly program: Running;
  readonly proxy: TlsProxy;
}

/** A starter with settings of its own. */
async function deploy(starter: Starter, more: Record<string, string>, until: Until): Promise<Deployment> {
  const redirectUri = `${origin}/auth/retail-pos/callback`;
  const sandbox = await startSandbox({ redirectUri, clientId: "ours", clientSecret });
  until(() => sandbox.close());
  const settings = {
    RETAIL_POS_AUTH_URL: sandbox.authUrl,
    RETAIL_POS_BASE_URL: sandbox.baseUrl,
    RETAIL_POS_CLIENT_ID: "ours",
    RETAIL_POS_CLIENT_SECRET: clientSecret,
    RETAIL_POS_REDIRECT_URI: redirectUri,
    SESSION_SECRET: sessionSecret,
    ...more,
  };
  const program = await startStarter(starter, settings, until);
  const proxy = await endTls(`http://127.0.0.1:${program.port}`, hostname);
  until(() => proxy.close());
  return { starter, sandbox, program, proxy };
}

/** A new person, whose browser comes to a starter by way of the proxy. */
function visit({ starter, sandbox, program, proxy }: Deployment) {
  const account = { email: `${randomUUID()}@example.com`, password };
  const cookies = new Map<string, string>();
  const cookieLines: string[] = [];

  async function open(
    path: string,
    method = "GET",
    headers: Record<string, string> = {},
    form?: Record<string, string>,
  ): Promise<Answer> {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const answer = await askBy(proxy, path, method, { ...headers, cookie }, form);
    for (const line of answer.headers["set-cookie"] ?? []) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      cookies.set(name, value);
      cookieLines.push(line);
    }
    return answer;
  }

  async function logIn(): Promise<URL> {
    if (starter.hasAccounts) await enter();
    const start = await open("/auth/retail-pos");
    const callback = sandbox.consent(start.headers.location ?? "", store);
    expect((await open(callback.pathname + callback.search)).headers.location).toBe(starter.page);
    return callback;
  }

  /** As somebody with an account, which is made the first time. */
  async function enter(): Promise<void> {
    const { status } = await open("/sign-up", "POST", { origin }, account);
    if (status === 409) await open("/log-in", "POST", { origin }, account);
  }

  return { sandbox, program, authUrl: sandbox.authUrl, cookieLines, open, logIn, enter };
}

/** One request to the deployed address, on a connection of its own to the proxy. */
function askBy(
  { port, certificate }: TlsProxy,
  path: string,
  method: string,
  headers: Record<string, string>,
  form?: Record<string, string>,
): Promise<Answer> {
  const type = form && { "content-type": "application/x-www-form-urlencoded" };
  return new Promise((resolve, reject) => {
    request(
      {
        host: "127.0.0.1",
        port,
        servername: hostname,
        ca: certificate,
        agent: false,
        path,
        method,
        headers: { host: hostname, ...headers, ...type },
      },
      async (answer) => {
        const { statusCode: status = 0, headers } = answer;
        resolve({ status, headers, body: await text(answer) });
      },
    )
      .on("error", reject)
      .end(form && new URLSearchParams(form).toString());
  });
}
