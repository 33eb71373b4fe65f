import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { RetailPosOptions } from "@retail-pos/core";
import {
  type Visitor as Browser,
  type Sandbox,
  type SandboxOptions,
  startSandbox,
} from "@retail-pos/sandbox";
import Sqlite from "libsql";
import { createApp } from "../src/app.js";
import { openParts, type Parts } from "../src/parts.js";
import { settingsFrom } from "../src/settings.js";

/** The whole application on a database of its own, beside a sandbox. */
export interface Site extends Omit<Parts, "close"> {
  readonly origin: string;
  readonly sandbox: Sandbox;
  /** What a process of its own is started with, to work on the same. */
  readonly env: NodeJS.ProcessEnv;
  /** Somebody with a browser, who is not logged in. */
  visitor(): Visitor;
  /** Somebody with an account, who is logged in and has connected these stores. */
  person(email: string, ...stores: string[]): Promise<Visitor>;
  close(): Promise<void>;
}

export interface Answer {
  readonly status: number;
  readonly location: string;
  readonly headers: Headers;
  readonly body: string;
}

/** Somebody with a browser, which follows no redirect here. */
export interface Visitor {
  open(path: string): Promise<Answer>;
  /** As a form of our pages does it, unless other headers are given. */
  post(path: string, fields?: Record<string, string>, headers?: Record<string, string>): Promise<Answer>;
  connect(store: string): Promise<Answer>;
  readonly browser: Browser;
}

/** Changes the file of an application, as a person with a shell can. */
export function runSql(site: Site, sql: string): void {
  const database = new Sqlite(site.env["DATABASE_FILE"] ?? "");
  database.exec(sql);
  database.close();
}

export const PASSWORD = "four words are a password";

export async function startSite(
  { clock, ...options }: SandboxOptions = {},
  more: Partial<RetailPosOptions> = {},
): Promise<Site> {
  const folder = mkdtempSync(join(tmpdir(), "many-stores-"));
  let app: RequestListener = () => {};
  const server = createServer((req, res) => app(req, res));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const origin = `http://localhost:${(server.address() as AddressInfo).port}`;
  const redirectUri = `${origin}/auth/retail-pos/callback`;
  const sandbox = await startSandbox({ redirectUri, ...(clock && { clock }), ...options });

  const { authUrl, baseUrl, application } = sandbox;
  const env = {
    RETAIL_POS_AUTH_URL: authUrl,
    RETAIL_POS_BASE_URL: baseUrl,
    RETAIL_POS_CLIENT_ID: application.clientId,
    RETAIL_POS_CLIENT_SECRET: application.clientSecret,
    RETAIL_POS_REDIRECT_URI: redirectUri,
    DATABASE_FILE: join(folder, "made", "when-missing.sqlite"),
  };
  const settings = settingsFrom(env);
  const parts = openParts(settings, {
    cacheMs: 0, // what another process does is seen at once
    ...(clock && { clock }),
    ...more,
  });
  app = createApp(settings, parts);

  return {
    ...parts,
    origin,
    sandbox,
    env,
    visitor: () => visitorOf(origin, sandbox),
    async person(email, ...stores) {
      const person = visitorOf(origin, sandbox);
      await person.post("/sign-up", { email, password: PASSWORD });
      for (const store of stores) await person.connect(store);
      return person;
    },
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      parts.close();
      rmSync(folder, { recursive: true });
      await sandbox.close();
    },
  };
}

function visitorOf(origin: string, sandbox: Sandbox): Visitor {
  const browser = sandbox.visitor();
  async function ask(path: string, init: RequestInit = {}): Promise<Answer> {
    const answer = await browser.fetch(path, { ...init, redirect: "manual" });
    const { status, headers } = answer;
    return { status, headers, location: headers.get("location") ?? "", body: await answer.text() };
  }
  return {
    browser,
    open: (path) => ask(path),
    post: (path, fields = {}, headers = { origin, "sec-fetch-site": "same-origin" }) =>
      ask(path, { method: "POST", body: new URLSearchParams(fields), headers }),
    async connect(store) {
      const { location } = await ask("/auth/retail-pos");
      return ask(sandbox.consent(location, store).href);
    },
  };
}
