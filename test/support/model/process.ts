import {
  type AccessToken,
  type Lock,
  type RetailPos,
  retailPos,
  type TokenSet,
  type TokenStore,
} from "@retail-pos/core";
import type { World } from "./world.js";

/** One process of the application, as seen from outside: what it read, wrote, sent and received. */
export interface Process {
  readonly name: string;
  readonly pos: RetailPos;
  readonly isAlive: boolean;
  /** Its machine's clock. */
  clock(): number;
  /** What it last read, or received and tried to write. */
  readonly latest: TokenSet | undefined;
  /** It could not write what it received. */
  readonly isUnsaved: boolean;
  /** What the API rejected from it, or a caller told it so. */
  readonly rejected: Set<string>;
  /** The same, where it perhaps had no occasion to take note. */
  readonly doubtful: Set<string>;
  /** When token requests of its own failed, by its clock. */
  readonly endpointFailures: { readonly at: number; readonly isLimited: boolean }[];
  /** How often the store had changed when this process was last given the lock: what it could know. */
  readonly changesWhenLocked: number;
  /** 401s it received from the API. */
  readonly rejections: number;
  token(ask?: { rejected?: string; signal?: AbortSignal }): Promise<void>;
  login(): Promise<void>;
  disconnect(): Promise<void>;
  /** A call of the API. */
  call(): Promise<void>;
  /** It ends in the middle of whatever it does: nothing of it reads, writes, sends or answers any more. */
  crash(): void;
}

export function startProcess(world: World, name: string, skew: () => number): Process {
  const { sandbox, store, truth, retailer } = world;
  const death = new AbortController();
  const died = new Promise<never>((_, reject) => {
    death.signal.addEventListener("abort", () => reject(death.signal.reason));
  });
  died.catch(() => {});
  let latest: TokenSet | undefined;
  let asOf = 0;
  let ticks = 0;
  let isUnsaved = false;
  let rejected = new Set<string>();
  const doubtful = new Set<string>();
  const tokenOf = new WeakMap<Response, string>();
  /** The versions of fresh logins. */
  const connecting = new Set<string>();
  const endpointFailures: Process["endpointFailures"] = [];
  let rejections = 0;
  let changesWhenLocked = 0;

  const clock = () => sandbox.now() + skew();
  const { authUrl, baseUrl, application } = sandbox;
  const pos = retailPos({
    ...application,
    authUrl,
    baseUrl,
    store: ownStore(),
    lock: ownLock,
    cacheMs: world.cacheMs,
    fetch: ownFetch,
    clock,
  });
  const process: Process = {
    name,
    pos,
    clock,
    get isAlive() {
      return !death.signal.aborted;
    },
    get latest() {
      return latest;
    },
    get isUnsaved() {
      return isUnsaved;
    },
    get rejected() {
      return rejected;
    },
    doubtful,
    endpointFailures,
    get changesWhenLocked() {
      return changesWhenLocked;
    },
    get rejections() {
      return rejections;
    },
    token: (ask) => judged(ask?.rejected, () => pos.tokens(retailer).token(ask)),
    async login() {
      const code = sandbox.approve(retailer).searchParams.get("code") ?? "";
      const tokens = await pos.exchange(retailer, code).catch(() => undefined);
      if (!tokens) return; // a login that fails changes nothing; atRest() sees to it
      connecting.add(tokens.version);
      await pos.connect(tokens).then(() => forget(tokens), storesOwn);
    },
    async disconnect() {
      await pos.disconnect(retailer).then(() => forget(undefined), storesOwn);
    },
    async call() {
      const before = rejections;
      const faults = world.apiFaults();
      await judged(undefined, async () => {
        const response = await pos.retailer(retailer).fetch("api/retailer");
        const second = response.status === 401 && tokenOf.get(response);
        if (second) {
          rejected.delete(second); // there is one retry; the 401 that answers it goes to the caller
          doubt(second);
        }
        const isStruck = world.apiFaults() > faults;
        truth.must(
          response.status === 200 || isStruck || rejections - before >= 2 || rejected.size >= 5,
          `${name} gets ${response.status} from the API`,
        );
        return undefined;
      });
    },
    crash() {
      death.abort(new Error(`${name} has crashed`));
      truth.crashed(process);
    },
  };
  return process;

  /** What a caller gets, judged the moment it comes. */
  async function judged(
    given: string | undefined,
    work: () => Promise<AccessToken | undefined>,
  ): Promise<void> {
    const failuresBefore = store.failures;
    const wasAbsent = store.stored === undefined;
    if (given !== undefined && given === latest?.access.value) reject(given);
    else if (given !== undefined) doubt(given); // perhaps it goes by a copy in which that token is not yet
    try {
      const token = await work();
      if (token) truth.served(process, token);
    } catch (error) {
      if (Object(error).name === "AbortError" || death.signal.aborted) return;
      truth.failed(process, error, { wasAbsent, storeFailures: store.failures - failuresBefore });
      const isUnheard = Object(error).code === undefined || isAboutTheApi(error);
      if (given === undefined || !isUnheard) return;
      rejected.delete(given);
      doubt(given);
    }
  }

  function reject(token: string): void {
    rejected.add(token);
    truth.rejected(token);
  }

  function doubt(token: string): void {
    doubtful.add(token);
    truth.rejected(token);
  }

  function forget(tokens: TokenSet | undefined): void {
    latest = tokens;
    asOf = ++ticks;
    isUnsaved = false;
    rejected = new Set();
  }

  function storesOwn(error: unknown): void {
    truth.must(
      String(error).includes(store.failure),
      `${name} fails with ${error}, which is not of the store`,
    );
  }

  function ownStore(): TokenStore {
    return {
      async load(domainPrefix) {
        const tick = ++ticks;
        const set = await turn("reads", () => store.load(domainPrefix));
        if (tick > asOf) [latest, asOf, isUnsaved] = [set, tick, false];
        return set;
      },
      async save(next, replacing) {
        const isOwed = replacing !== undefined || connecting.has(next.version);
        truth.must(isOwed, `${name} writes over whatever is stored, and nobody has logged in`);
        try {
          const isSaved = await turn(replacing ? "replaces" : "writes", () => store.save(next, replacing));
          if (isSaved && replacing) [latest, asOf, isUnsaved] = [next, ++ticks, false];
          return isSaved;
        } catch (error) {
          if (replacing) [latest, asOf, isUnsaved] = [next, ++ticks, true];
          throw error;
        }
      },
      remove: (domainPrefix) => turn("removes", () => store.remove(domainPrefix)),
    };
  }

  /** The dead hold no lock, and wait for none. */
  function ownLock<T>(key: string, work: Parameters<Lock>[1]): Promise<T> {
    return world.lock(key, () => {
      death.signal.throwIfAborted();
      changesWhenLocked = store.changes;
      return Promise.race([work() as Promise<T>, died]);
    });
  }

  /** Whose turn it is, is for the run to decide. For the dead it never is. */
  async function turn<T>(what: string, work: () => Promise<T>): Promise<T> {
    if (!death.signal.aborted) await world.turn(`${name} ${what}`);
    if (death.signal.aborted) return new Promise(() => {});
    return work();
  }

  async function ownFetch(input: string | URL | Request, init: RequestInit = {}): Promise<Response> {
    const url = input instanceof Request ? input.url : String(input);
    return url.endsWith("/api/1.0/token") ? tokenRequest(url, init) : apiCall(url, init);
  }

  async function tokenRequest(url: string, init: RequestInit): Promise<Response> {
    const sent = new URLSearchParams(String(init.body)).get("refresh_token");
    await turn("asks for tokens", async () => sent !== null && truth.refreshing(process, sent));
    let answer: TokenResponse | undefined;
    let status = 0;
    try {
      const response = await world.send(url, init, death.signal);
      status = response.status;
      answer = response.ok ? tokensIn(response.text) : undefined;
      return await turn("gets an answer", async () => response.asResponse());
    } finally {
      if (!death.signal.aborted) {
        if (answer) truth.issued(answer.access_token);
        else endpointFailures.push({ at: clock(), isLimited: status === 429 });
        if (sent !== null) truth.refreshed(process, sent, answer);
      }
    }
  }

  async function apiCall(url: string, init: RequestInit): Promise<Response> {
    const authorization = new Headers(init.headers).get("authorization");
    truth.calling(authorization);
    const response = await world.send(url, init, death.signal);
    return turn("gets an answer of the API", async () => {
      if (response.status === 401) {
        rejections += 1;
        reject((authorization ?? "").slice("Bearer ".length));
      }
      const given = response.asResponse();
      tokenOf.set(given, (authorization ?? "").slice("Bearer ".length));
      return given;
    });
  }
}

/** The library says that another token would not help. */
export function isAboutTheApi(error: unknown): boolean {
  return Object(error).code === "bad_token_response" && /\bAPI\b/.test(String(error));
}

interface TokenResponse {
  readonly access_token: string;
  readonly refresh_token?: string;
}

/** Where the whole body has come. */
function tokensIn(text: string | undefined): TokenResponse | undefined {
  try {
    const { access_token, refresh_token } = JSON.parse(text ?? "");
    return access_token ? { access_token, ...(refresh_token && { refresh_token }) } : undefined;
  } catch {
    return undefined;
  }
}
