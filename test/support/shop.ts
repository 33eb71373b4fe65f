import type { RequestListener } from "node:http";
import { memoryStore, type TokenStore } from "@retail-pos/core";
import {
  type Sandbox,
  type SandboxOptions,
  startSandbox,
  type VirtualClock,
  virtualClock,
} from "@retail-pos/sandbox";
import { createApp } from "../../examples/express-login/src/app.js";
import { type Listening, listen } from "./listen.js";

export interface Shop {
  readonly sandbox: Sandbox;
  /** The time of both, the service and the application. */
  readonly clock: VirtualClock;
  readonly app: Listening;
  /** Where the application keeps its tokens. */
  readonly store: TokenStore;
  close(): Promise<void>;
}

/** The Express example beside a sandbox, as somebody would run the two. */
export async function startShop(options: SandboxOptions = {}): Promise<Shop> {
  const clock = virtualClock();
  let handler: RequestListener = () => {};
  const app = await listen((req, res) => handler(req, res));
  const redirectUri = `${app.origin}/auth/retail-pos/callback`;
  const sandbox = await startSandbox({ redirectUri, clock, ...options });
  const { authUrl, baseUrl, application } = sandbox;
  const settings = { service: { ...application, authUrl, baseUrl }, SESSION_SECRET: "for the tests" };
  const store = memoryStore();
  handler = createApp(settings, { store, clock, cacheMs: 0 });
  return {
    sandbox,
    clock,
    app,
    store,
    async close() {
      await app.close();
      await sandbox.close();
    },
  };
}
