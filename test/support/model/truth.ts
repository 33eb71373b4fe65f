import type { AccessToken, TokenSet } from "@retail-pos/core";
import type { Sandbox } from "@retail-pos/sandbox";
import { isAboutTheApi, type Process } from "./process.js";
import type { SharedStore } from "./shared-store.js";

/** Never more than this before expiry, and never more than a tenth of the lifetime (behaviour 5). */
const RENEW_EARLY_MS = 300_000;
/** How long a failure is remembered at most (behaviour 7): after a 429, and after anything else. */
const REMEMBERED_MS = { limited: 3_600_000, other: 60_000 };
/** So many rejected tokens in a row say more about the call than about the token. */
const REJECTED_IN_A_ROW = 5;

/**
 * The model: what must hold of one retailer's tokens, judged by what the service issued and received and by
 * what lies in the store. It knows nothing of how the library does it.
 */
export interface Truth {
  /**
   * The first thing that did not hold. Kept, because the library turns what is thrown into it into errors of its own.
   */
  readonly broken: string | undefined;
  must(holds: boolean | undefined, otherwise: string): void;
  /** The newest refresh token that anybody received: of the last login, or of a renewal with the one before. */
  readonly newest: string | undefined;
  connected(tokens: TokenSet, by: Process): void;
  disconnected(): void;
  /** Somebody is about to send a refresh token: something must call for it. */
  refreshing(by: Process, refreshToken: string): void;
  /** The answer has come, or never will. */
  refreshed(by: Process, sent: string, answer: TokenResponse | undefined): void;
  issued(token: string): void;
  /** A call goes out: with a bearer that the service once issued. */
  calling(authorization: string | null): void;
  /** The API answered 401, or a caller says so. */
  rejected(token: string): void;
  crashed(process: Process): void;
  /** A token was handed out: a good one, as far as anybody here can know. */
  served(by: Process, token: AccessToken): void;
  /** A caller got an error: there must be a reason. To be called at the moment of it. */
  failed(by: Process, error: unknown, was: Circumstances): void;
  /** What must hold when nothing is under way. */
  atRest(): void;
}

export interface TokenResponse {
  readonly access_token: string;
  readonly refresh_token?: string;
}

/** What else may be behind an error. */
export interface Circumstances {
  /** Nothing was stored when the work began. */
  readonly wasAbsent: boolean;
  /** The store failed since. */
  readonly storeFailures: number;
}

export function truthOf(retailer: string, sandbox: Sandbox, store: SharedStore): Truth {
  const everIssued = new Set<string>();
  const everRejected = new Set<string>();
  const underWay = new Map<Process, string>();
  let newest: string | undefined;
  let isConnected = false;
  let broken: string | undefined;
  let holder: Process | undefined;

  const accepts = (refreshToken: string) => sandbox.accepts(retailer, refreshToken);
  const isLive = ({ access: { value, expiresAt } }: TokenSet, by: Process) =>
    (expiresAt === undefined || by.clock() < expiresAt) && !by.rejected.has(value) && !by.doubtful.has(value);
  const isDue = ({ access: { expiresAt }, issuedAt }: TokenSet, by: Process) =>
    expiresAt !== undefined &&
    by.clock() >= expiresAt - Math.min(RENEW_EARLY_MS, (expiresAt - issuedAt) / 10);
  /** What a process has to go by, whoever wrote it. */
  const goesBy = (by: Process) => (by.isUnsaved || !store.isReadable ? by.latest : store.stored);

  const must = (holds: boolean | undefined, otherwise: string) => {
    if (!holds) broken ??= otherwise;
  };

  /** Logins, and what a process writes late because the store was down, come without the lock. */
  const couldKnow = (by: Process) => (store.changes > by.changesWhenLocked ? by.latest : goesBy(by));

  return {
    must,
    get broken() {
      return broken;
    },
    get newest() {
      return newest;
    },
    connected(tokens, by) {
      newest = tokens.refreshToken;
      holder = by;
      isConnected = true;
    },
    disconnected() {
      newest = undefined;
      isConnected = false;
    },
    refreshing(by, refreshToken) {
      must(underWay.size === 0, `${by.name} sends a token request beside another one under way`);
      underWay.set(by, refreshToken);
      const set = couldKnow(by);
      const isCalledFor = !set || !isLive(set, by) || everRejected.has(set.access.value) || isDue(set, by);
      must(isCalledFor, `${by.name} sends a token request although a live token is there`);
      const known = [store.stored?.refreshToken, by.latest?.refreshToken];
      must(known.includes(refreshToken), `${by.name} sends a refresh token that was replaced`);
    },
    refreshed(by, sent, answer) {
      underWay.delete(by);
      if (!answer || sent !== newest) return;
      newest = answer.refresh_token ?? sent;
      holder = by;
    },
    issued: (token) => void everIssued.add(token),
    calling(authorization) {
      const token = /^Bearer (\S+)$/.exec(authorization ?? "")?.[1];
      must(token !== undefined && everIssued.has(token), "a call goes out without a bearer of the service");
    },
    rejected: (token) => void everRejected.add(token),
    crashed(process) {
      underWay.delete(process);
      // What only the crashed process had is gone with it. That window cannot be closed from a client.
      if (holder === process && store.stored?.refreshToken !== newest) newest = undefined;
    },
    served(by, { value, expiresAt }) {
      must(everIssued.has(value), `${by.name} hands out a token that nobody issued`);
      must(expiresAt === undefined || by.clock() < expiresAt, `${by.name} hands out an expired token`);
      must(!by.rejected.has(value), `${by.name} hands out a token again that the API rejects`);
    },
    failed(by, error, { wasAbsent, storeFailures }) {
      const code = Object(error).code as string | undefined;
      const set = couldKnow(by);
      const why = `${by.name} fails with ${code ?? error}`;
      if (code === "not_connected")
        return must(wasAbsent || !store.stored, `${why}, and the store holds a set`);
      if (code === "reconnect_required") {
        return must(
          !set || !accepts(set.refreshToken),
          `${why}, and the service would accept the refresh token`,
        );
      }
      if (String(error).includes(store.failure)) {
        must(storeFailures > 0, `${why}, and the store had not failed`);
        return must(!by.latest || !isLive(by.latest, by), `${why}, and holds a live token`);
      }
      if (isAboutTheApi(error)) return must(by.rejected.size >= REJECTED_IN_A_ROW, why);
      must(["rate_limited", "token_endpoint_failed", "bad_token_response"].includes(code ?? ""), `${why}`);
      must(!set || !isLive(set, by), `${why}, and there is a live token`);
      const isRemembered = by.endpointFailures.some(
        ({ at, isLimited }) => Math.abs(by.clock() - at) < REMEMBERED_MS[isLimited ? "limited" : "other"],
      );
      const isNoted = [store.stored, by.latest].some(
        (known) => known?.limitedUntil !== undefined && by.clock() < known.limitedUntil,
      );
      const isLimitKnown = code === "rate_limited" && isNoted; // another process was told
      must(isRemembered || isLimitKnown, `${why}, and no token request failed of late`);
    },
    atRest() {
      const { stored } = store;
      must(underWay.size === 0, "a token request is under way with nobody waiting");
      must(isConnected || !stored, "a retailer who was disconnected is connected again");
      if (stored?.refusedAt !== undefined)
        must(!accepts(stored.refreshToken), "a set is marked as refused that the service accepts");
      if (newest === undefined || !accepts(newest)) return;
      const isHeld = holder?.isAlive && holder.isUnsaved && holder.latest?.refreshToken === newest;
      must(stored?.refreshToken === newest || isHeld, "the newest refresh token is in nobody's hands");
    },
  };
}
