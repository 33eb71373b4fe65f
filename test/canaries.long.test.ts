import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { canary, type Find, type Seen, search } from "./support/canaries-search.js";
import {
  apiCases,
  type TalkativeService,
  talkativeService,
  tokenEndpointCases,
} from "./support/canaries-service.js";

// Secrets that can be recognised anywhere, a service and a store that repeat whatever they are told, an application
// that prints whatever it comes by, and nowhere a secret to be found.

const SECRETS = {
  clientSecret: canary("ClientSecret"),
  code: canary("Code"),
  access: canary("Access"),
  refresh: canary("Refresh"),
  personal: canary("Personal"),
};

const HOUR_MS = 3_600_000;
const appFile = fileURLToPath(new URL("support/canaries-app.mjs", import.meta.url));

describe.each(["express", "koa"])("an application on %s", { timeout: 300_000 }, (framework) => {
  test("prints, throws, observes, stores unsealed and answers no secret, whatever fails", async ({
    onTestFinished,
  }) => {
    const service = await talkativeService(SECRETS);
    onTestFinished(service.close);
    const app = await startApp(framework, service);
    onTestFinished(app.stop);
    const given = await lifeOf(app, service);
    const { seen } = app;
    const { finds, compared } = search(seen, SECRETS);
    // The code stands in the callback's URL, where the service puts it (2.3); the request leads to it.
    const isWhereItBelongs = ({ place, secret }: Find) =>
      secret === "code" && place.endsWith("of the callback");
    expect(summaryOf(finds.filter((find) => !isWhereItBelongs(find)))).toEqual([]);
    console.log(
      `${framework}: ${compared} searches in ${seen.length} texts from ${new Set(seen.map(({ place }) => place)).size} places`,
    );

    // The search finds what is there: each secret where it has to be.
    const secretsIn = (texts: readonly string[]) =>
      new Set(
        search(
          texts.map((text) => ({ place: "", text })),
          SECRETS,
        ).finds.map(({ secret }) => secret),
      );
    expect(secretsIn(service.heard)).toEqual(new Set(Object.keys(SECRETS)));
    expect(secretsIn(given)).toEqual(new Set(["access", "refresh"]));
    expect(finds.filter(isWhereItBelongs).length).toBeGreaterThan(0);
    // And it was shown everything it was meant to be shown.
    const places = new Set(seen.map(({ place }) => place));
    for (const place of PLACES) expect(places, place).toContain(place);
  });
});

/** What was found where and in which form, and how often. */
function summaryOf(finds: readonly Find[]): string[] {
  const counts = new Map<string, number>();
  for (const { place, secret, form } of finds) {
    const line = `${secret} in ${place}, ${form}`;
    counts.set(line, (counts.get(line) ?? 0) + 1);
  }
  return [...counts].map(([line, count]) => `${line}: ${count} times`);
}

/** What the application must have come by, or the search has searched nothing. */
const PLACES = [
  "stderr",
  "answer",
  "record of the database",
  "strategy",
  "client",
  "retailer's client",
  "login",
  "info",
  "session of the callback",
  "request",
  "request of the callback",
  "request bearer",
  "access token",
  "error",
  "event connected",
  "event renewed",
  "event renewal_failed",
  "event rate_limited",
  "event reconnect_required",
  "event unsaved",
];

test.each([
  ["as it is", SECRETS.access],
  ["in a URL", encodeURIComponent(SECRETS.access)],
  ["in a form", new URLSearchParams({ token: SECRETS.access }).toString()],
  ["in JSON in JSON", JSON.stringify(JSON.stringify({ token: SECRETS.access }))],
  ["in base64", Buffer.from(SECRETS.access).toString("base64")],
  ["in base64url of JSON", Buffer.from(`{"a":${JSON.stringify(SECRETS.access)}}`).toString("base64url")],
  ["in base64 of something longer", Buffer.from(`Basic id:${SECRETS.access}`).toString("base64")],
  ["in hexadecimal", Buffer.from(SECRETS.access).toString("hex")],
  ["cut off in the middle", SECRETS.access.slice(0, 20)],
])("the search finds a secret %s", (_how, text) => {
  const found = search([{ place: "here", text: `before ${text} behind` }], SECRETS).finds;
  expect(new Set(found.map(({ secret }) => secret))).toEqual(new Set(["access"]));
});

/** Everything that an application may go through; answers what its store was given, before it was sealed. */
async function lifeOf(app: App, service: TalkativeService): Promise<string[]> {
  const given: string[] = [];
  const step = async (wish: { advanceMs?: number; fail?: string }) => given.push(...(await app.tell(wish)));
  const begin = async () => {
    const location = await app.open("/login");
    const state = new URL(location).searchParams.get("state") ?? "";
    return new URLSearchParams({ code: SECRETS.code, domain_prefix: "shop", state });
  };
  const logIn = async (change: (query: URLSearchParams) => void = () => {}) => {
    const query = await begin();
    change(query);
    await app.open(`/callback?${query}`);
  };

  for (const change of [
    (query: URLSearchParams) => query.set("error", "access_denied"),
    (query: URLSearchParams) => query.set("error", "server_error"),
    (query: URLSearchParams) => query.set("state", "somebody-else's"),
    (query: URLSearchParams) => query.delete("state"),
    (query: URLSearchParams) => query.append("code", SECRETS.code),
    (query: URLSearchParams) => query.set("domain_prefix", "evil.example"),
    (query: URLSearchParams) => query.delete("domain_prefix"),
    () => {},
  ]) {
    await logIn(change);
  }
  await app.open("/products");

  for (const tokenEndpoint of tokenEndpointCases) {
    service.tokenEndpoint = tokenEndpoint;
    await logIn();
    service.tokenEndpoint = "issues";
    await step({ advanceMs: 2 * HOUR_MS }); // past every pause, and a refused token may be tried again
    await logIn();
    service.tokenEndpoint = tokenEndpoint;
    await step({ advanceMs: 0.95 * HOUR_MS });
    await app.open("/products"); // renews early, beside the answer
    await step({ advanceMs: 2 * HOUR_MS });
    await app.open("/products"); // waits for the renewal
    await app.open("/products"); // gets the remembered error
    service.tokenEndpoint = "issues";
    await step({ advanceMs: 2 * HOUR_MS });
  }
  for (const api of apiCases) {
    service.api = api;
    await logIn();
    await app.open("/products");
    await app.open("/personal");
  }
  await app.open("/personal/rejected");
  service.api = "serves";

  for (const fail of ["save", "load"]) {
    await logIn();
    await step({ advanceMs: 2 * HOUR_MS, fail });
    await app.open("/products");
    await logIn();
    await step({ advanceMs: 2 * HOUR_MS, fail: "never" });
    await app.open("/products");
  }
  return given;
}

interface App {
  readonly seen: Seen[];
  /** A page in the one browser there is; answers where it leads. */
  open(path: string): Promise<string>;
  /** Time passes, the store begins to fail or works again; answers what the store was given so far. */
  tell(wish: object): Promise<string[]>;
  stop(): Promise<void>;
}

async function startApp(framework: string, service: TalkativeService): Promise<App> {
  const seen: Seen[] = [];
  const options = {
    authUrl: service.origin,
    baseUrl: `${service.origin}/stores/{domain_prefix}`,
    clientId: "the-application",
    clientSecret: SECRETS.clientSecret,
    timeoutMs: 3000,
  };
  const env = { FRAMEWORK: framework, OPTIONS: JSON.stringify(options), PERSONAL_TOKEN: SECRETS.personal };
  const child = fork(appFile, { silent: true, execArgv: [], env: { PATH: process.env["PATH"], ...env } });
  const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  const waiting = new Map<number, (given: string[]) => void>();
  let lastId = 0;
  child.stdout?.setEncoding("utf8").on("data", (text) => seen.push({ place: "stdout", text }));
  child.stderr?.setEncoding("utf8").on("data", (text) => seen.push({ place: "stderr", text }));
  const port = await new Promise<number>((resolve, reject) => {
    child.once("exit", (code) =>
      reject(new Error(`the application ended with ${code}: ${seen.map(({ text }) => text)}`)),
    );
    child.on("message", (message: Message) => {
      if (message.port) resolve(message.port);
      for (const text of message.texts ?? []) seen.push({ place: message.place ?? "", text });
      for (const text of message.records ?? []) seen.push({ place: "record of the database", text });
      waiting.get(message.id ?? 0)?.(message.given ?? []);
    });
  });

  let cookies = "";
  return {
    seen,
    async open(path) {
      const response = await fetch(`http://localhost:${port}${path}`, {
        headers: { cookie: cookies },
        redirect: "manual",
      });
      const head = [...response.headers].map(([name, value]) => `${name}: ${value}`);
      const text = [`${response.status} ${response.statusText}`, ...head, await response.text()].join("\n");
      seen.push({ place: path.startsWith("/callback") ? "answer to the callback" : "answer", text });
      const jar = new Map(cookies.split("; ").map((cookie) => [cookie.split("=", 1)[0], cookie] as const));
      for (const cookie of response.headers.getSetCookie())
        jar.set(cookie.split("=", 1)[0], cookie.split(";", 1)[0] ?? "");
      cookies = [...jar.values()].filter(Boolean).join("; ");
      return response.headers.get("location") ?? "";
    },
    tell: (wish) =>
      new Promise((resolve) => {
        lastId += 1;
        waiting.set(lastId, resolve);
        child.send({ id: lastId, ...wish });
      }),
    async stop() {
      child.disconnect();
      await ended;
    },
  };
}

interface Message {
  readonly port?: number;
  readonly id?: number;
  readonly place?: string;
  readonly texts?: string[];
  readonly records?: string[];
  readonly given?: string[];
}
