import { onTestFinished } from "vitest";
import { type Sandbox, type SandboxOptions, startSandbox } from "../src/index.js";

/** A token response as it came over the wire. */
export interface WireTokens {
  access_token: string;
  token_type: string;
  expires: number;
  expires_in: number;
  refresh_token?: string;
  domain_prefix: string;
}

export type Client = ReturnType<typeof clientOf>;

/** A sandbox that ends with the test, and a client that is as careless as each test needs it. */
export async function startClient(options: SandboxOptions = {}): Promise<Client> {
  const sandbox = await startSandbox(options);
  onTestFinished(() => sandbox.close());
  return clientOf(sandbox);
}

function clientOf(sandbox: Sandbox) {
  const { clientId, clientSecret, redirectUri } = sandbox.application;
  const store = sandbox.stores[0]?.domainPrefix ?? "";
  const baseUrl = (domainPrefix = store) => sandbox.baseUrl.replace("{domain_prefix}", domainPrefix);
  const tokenUrl = (domainPrefix = store) => `${baseUrl(domainPrefix)}/api/1.0/token`;
  const credentials = { client_id: clientId, client_secret: clientSecret };

  const post = (fields: Record<string, string>, domainPrefix = store) =>
    fetch(tokenUrl(domainPrefix), {
      method: "POST",
      body: new URLSearchParams({ ...credentials, ...fields }),
    });
  const codeFor = (domainPrefix = store) => sandbox.approve(domainPrefix).searchParams.get("code") ?? "";
  const exchange = (code: string, domainPrefix = store) =>
    post({ grant_type: "authorization_code", code, redirect_uri: redirectUri }, domainPrefix);
  const refresh = (refreshToken: string, domainPrefix = store) =>
    post({ grant_type: "refresh_token", refresh_token: refreshToken }, domainPrefix);
  const call = (path: string, bearer?: string, init: RequestInit = {}, domainPrefix = store) =>
    fetch(baseUrl(domainPrefix) + path, {
      ...init,
      headers: { ...init.headers, ...(bearer === undefined ? {} : { Authorization: `Bearer ${bearer}` }) },
    });
  const authorizationQuery = (changes: Record<string, string> = {}) =>
    new URLSearchParams({
      response_type: "code",
      client_id: clientId,
      redirect_uri: redirectUri,
      state: "12345678",
      ...changes,
    });
  const login = async (domainPrefix = store) => {
    const tokens = (await (await exchange(codeFor(domainPrefix), domainPrefix)).json()) as WireTokens;
    return { ...tokens, refresh_token: tokens.refresh_token ?? "" };
  };
  return {
    sandbox,
    store,
    credentials,
    baseUrl,
    tokenUrl,
    post,
    codeFor,
    exchange,
    refresh,
    call,
    login,
    authorizationQuery,
  };
}
