// What the documents speak of without declaring it: the names a reader has in front of them.
import type {
  Lock,
  DomainPrefix as Prefix,
  RetailPos,
  RetailerStatus as Status,
  TokenStore,
  TokenSet as Tokens,
} from "@retail-pos/core";
import type { SealingKey } from "@retail-pos/sealed-store";
import type { Pool } from "pg";

declare global {
  type DomainPrefix = Prefix;
  type TokenSet = Tokens;
  type RetailerStatus = Status;

  const retailPos: typeof import("@retail-pos/core").retailPos;
  const RetailPosStrategy: typeof import("passport-retail-pos").RetailPosStrategy;
  const postgresTokens: typeof import("@retail-pos/store-postgres").postgresTokens;
  const isRetailPosError: typeof import("@retail-pos/core").isRetailPosError;
  const leaseLock: typeof import("@retail-pos/core").leaseLock;
  const sqliteTokens: typeof import("@retail-pos/store-sqlite").sqliteTokens;
  const sealedStore: typeof import("@retail-pos/sealed-store").sealedStore;

  const settingsFromEnv: typeof import("@retail-pos/core").settingsFromEnv;
  const openTelemetry: typeof import("@retail-pos/opentelemetry").openTelemetry;
  const countRetailers: typeof import("@retail-pos/opentelemetry").countRetailers;

  const startSandbox: typeof import("@retail-pos/sandbox").startSandbox;

  const loginFlow: typeof import("@retail-pos/login").loginFlow;
  const failureWords: typeof import("@retail-pos/login").failureWords;
  const nodeHandler: typeof import("@retail-pos/login").nodeHandler;
  const createServer: typeof import("node:http").createServer;

  const pos: RetailPos;
  const client: RetailPos;
  const login: import("@retail-pos/login").WebLogin;
  const server: import("fastify").FastifyInstance;
  const request: Request;
  // biome-ignore lint/suspicious/noExplicitAny: of whatever framework
  const session: any;
  const authUrl: string;
  const baseUrl: string;
  const clientId: string;
  const clientSecret: string;
  const redirectUri: string;
  const pool: Pool;
  const store: TokenStore;
  const plain: TokenStore;
  const lock: Lock;
  const keys: SealingKey[];
  const retailers: Prefix[];
  /** The application's own. */
  // biome-ignore lint/suspicious/noExplicitAny: whatever the reader has
  const users: any;
  /** Of docs/moving-over.md: the token store on the old table, and passport-oauth2's states, which have no types. */
  const oldTable: (pool: Pool) => TokenStore;
  // biome-ignore lint/suspicious/noExplicitAny: see above
  const SessionStates: any;
  const database: {
    claim(key: string, owner: string, leaseMs: number): Promise<boolean>;
    extend(key: string, owner: string, leaseMs: number): Promise<boolean>;
    release(key: string, owner: string): Promise<void>;
  };
  const error: unknown;
  function scheduleAgain(at: number): void;

  /** To a reader without TypeScript an answer is what it is. */
  interface Response {
    // biome-ignore lint/suspicious/noExplicitAny: JSON from somewhere
    json(): Promise<any>;
  }

  namespace Express {
    interface User {
      domainPrefix: string;
      name?: string;
    }
    interface Request {
      /** Passport's `authorize` sets it. */
      account?: User & { domainPrefix: string };
    }
  }
}
