import {
  type AccessToken,
  type RetailPos,
  type RetailPosEvent,
  type RetailPosOptions,
  retailPos,
  type TokenSet,
  type TokenSource,
} from "../src/index.js";

/** The instant at which every test begins; a whole second, because the wire knows no smaller ones. */
export const T0: number = Date.UTC(2030, 0, 1);
export const DAY_MS = 86_400_000;

/** One token request as the service saw it. */
export interface Seen {
  readonly url: string;
  readonly retailer: string;
  readonly method: string;
  readonly headers: Headers;
  readonly form: URLSearchParams;
}

/** Answers one request; `regular` is what the service would have done, with all its effects. */
export type Script = (seen: Seen, regular: () => Response) => Response | Promise<Response>;

export interface FakeService {
  readonly fetch: typeof globalThis.fetch;
  readonly seen: Seen[];
  /** The refresh tokens that were sent, in order, of one retailer or of all. */
  spent(retailer?: string): string[];
  /** Scripts for the next requests, one each. */
  next(...scripts: Script[]): void;
  /** Holds the next request, before anything is done about it. */
  holdNext(): HeldRequest;
  /** What is done where no script is left; `undefined`: the regular answer. */
  always(script: Script | undefined): void;
  /** The refresh token that the service would accept now. */
  valid(retailer: string): string | undefined;
  /** What the service forgets, as if its operator had revoked it. */
  revoke(retailer: string): void;
}

/** A token request that has left the client and waits at the service. */
export interface HeldRequest {
  /** The service does what it always does, and answers. */
  release(): void;
  /** It answers this instead, and does nothing. */
  answer(response: Response): void;
  /** The connection breaks, and nothing is done. */
  fail(error: Error): void;
}

/**
 * The token endpoint of spec.md, as strict as a service may be: every refresh rotates (unless told
 * otherwise) and a spent refresh token is refused. Tokens are numbered: `access-shop-1`, `refresh-shop-1`.
 */
export function fakeService({ rotates = true, lifetimeSeconds = 86_400 } = {}): FakeService {
  const seen: Seen[] = [];
  const scripts: Script[] = [];
  const accepted = new Map<string, string>();
  const counts = new Map<string, number>();
  let fallback: Script | undefined;

  return {
    seen,
    fetch: async (input, init) => {
      const url = String(input);
      const request: Seen = {
        url,
        retailer: new URL(url).hostname.split(".")[0] ?? "",
        method: init?.method ?? "GET",
        headers: new Headers(init?.headers),
        form: new URLSearchParams(String(init?.body)),
      };
      seen.push(request);
      const script = scripts.shift() ?? fallback;
      const answer = await (script ? script(request, () => regular(request)) : regular(request));
      init?.signal?.throwIfAborted();
      return answer;
    },
    spent: (retailer) =>
      seen
        .filter((request) => retailer === undefined || request.retailer === retailer)
        .flatMap(({ form }) => form.get("refresh_token") ?? []),
    next: (...more) => void scripts.push(...more),
    holdNext() {
      const { promise, resolve, reject } = later<Response | undefined>();
      promise.catch(() => {}); // it may fail before a request has come
      scripts.push(async (_, regular) => (await promise) ?? regular());
      return { release: () => resolve(undefined), answer: resolve, fail: reject };
    },
    always: (script) => {
      fallback = script;
    },
    valid: (retailer) => accepted.get(retailer),
    revoke: (retailer) => void accepted.delete(retailer),
  };

  function regular({ retailer, form }: Seen): Response {
    const isLogin = form.get("grant_type") === "authorization_code";
    if (!isLogin && form.get("refresh_token") !== accepted.get(retailer)) return oauthError("invalid_grant");
    const count = (counts.get(retailer) ?? 0) + 1;
    counts.set(retailer, count);
    const refresh_token = isLogin || rotates ? `refresh-${retailer}-${count}` : undefined;
    if (refresh_token) accepted.set(retailer, refresh_token);
    return json({
      access_token: `access-${retailer}-${count}`,
      token_type: "Bearer",
      expires_in: lifetimeSeconds,
      refresh_token,
    });
  }
}

export interface Started {
  readonly pos: RetailPos;
  readonly service: FakeService;
  /** What was observed, but for {@link counts}. */
  readonly events: RetailPosEvent[];
  /** The events that count requests and callers: `token_request` and `caller_failed`. */
  readonly counts: RetailPosEvent[];
  readonly time: { now: number };
  /** The retailer "shop". */
  readonly shop: TokenSource;
  /** Logs a retailer in ("shop" by default). */
  login(retailer?: string): Promise<TokenSet>;
  /** The value that a caller is handed. */
  value(): Promise<string>;
  types(): string[];
}

/** A client of the service; give it the parts of another one and it is a second process. */
export function start(
  options: Partial<RetailPosOptions> = {},
  service: FakeService = fakeService(),
  time: { now: number } = { now: T0 },
): Started {
  const events: RetailPosEvent[] = [];
  const counts: RetailPosEvent[] = [];
  const isCount = ({ type }: RetailPosEvent) => type === "token_request" || type === "caller_failed";
  const pos = retailPos({
    authUrl: "https://login.example.com",
    baseUrl: "https://{domain_prefix}.example.com",
    clientId: "the-application",
    clientSecret: "the-client-secret",
    redirectUri: "https://app.example.net/callback",
    fetch: service.fetch,
    clock: () => time.now,
    observe: (event) => void (isCount(event) ? counts : events).push(event),
    ...options,
  });
  const shop = pos.tokens("shop");
  return {
    pos,
    service,
    events,
    counts,
    time,
    shop,
    async login(retailer = "shop") {
      const tokens = await pos.exchange(retailer, "a-code");
      await pos.connect(tokens);
      return tokens;
    },
    value: async () => (await shop.token()).value,
    types: () => events.map(({ type }) => type),
  };
}

export function json(body: unknown, status = 200, headers: Record<string, string> = {}): Response {
  return new Response(JSON.stringify(body), {
    status,
    headers: { "content-type": "application/json", ...headers },
  });
}

export function oauthError(error: string, status = 400): Response {
  return json({ error }, status);
}

/** A promise that the test settles. */
export interface Later<T = void> {
  readonly promise: Promise<T>;
  resolve(value: T): void;
  reject(error: unknown): void;
}

export function later<T = void>(): Later<T> {
  let resolve!: (value: T) => void;
  let reject!: (error: unknown) => void;
  const promise = new Promise<T>((yes, no) => {
    resolve = yes;
    reject = no;
  });
  return { promise, resolve, reject };
}

/** Lets everything happen that waits for nothing but its turn. No time passes. */
export async function settled(): Promise<void> {
  for (let turn = 0; turn < 25; turn += 1) await new Promise(setImmediate);
}

/** The error of a promise that must not succeed. */
export async function failureOf(work: Promise<AccessToken | unknown>): Promise<unknown> {
  return work.then(
    (value) => {
      throw new Error(`It should have failed, but gave ${JSON.stringify(value)}`);
    },
    (error: unknown) => error,
  );
}
