import type { AccessToken, RetailPosEvent, TokenSet } from "@retail-pos/core";
import { Digest, digestOf } from "./digest.js";
import { Knowledge, type Load, type Request } from "./knowledge.js";
import type { Answer } from "./operation.js";
import type { Call, Life } from "./process.js";
import type { PromiseName, Violation } from "./promises.js";
import { type Family, partsOf, type ServiceAnswer } from "./service.js";
import type { World } from "./world.js";

const EARLY_MS = 300_000;
/** The shortest pause after a failed token request: a second, less a fifth by chance. */
const PAUSE_MS = 800;
/** How long core waits for an answer of the store. */
const DEADLINE_MS = 5_000;
const HOUR_MS = 3_600_000;

/** Of one retailer: what was true of the store, and when. Instants are numbers of steps. */
class Record {
  /** When each access token was last in the store; the one that is there now is in `stored`. */
  readonly leftIn = new Map<string, number>();
  readonly leftAt = new Map<string, number>();
  stored: TokenSet | undefined;
  nothingIn = -1;
  refusedIn = -1;
  /** The login whose tokens the store should hold. */
  connected: Family | undefined;
  /** Refresh tokens that reached somebody who could have kept them. */
  readonly received = new Set<string>();
  readonly requests: Request[] = [];
}

/** Watches everything that passes between the processes and the world, and says which promise was broken first. */
export class Judge {
  readonly #world: World;
  readonly #records = new Map<string, Record>();
  readonly #knowledge = new Map<Life, Map<string, Knowledge>>();
  /** Whatever may make two processes renew at once: a lost lease, a kill, a save that nobody knows the end of. */
  #disruptions = 0;
  violation: Violation | undefined;

  constructor(world: World) {
    this.#world = world;
  }

  must(condition: boolean, promise: PromiseName, what: () => string): void {
    if (!condition) this.violation ??= { promise, what: what() };
  }

  of(retailer: string): Record {
    return kept(this.#records, retailer, () => new Record());
  }

  knows(life: Life, retailer: string): Knowledge {
    const all = kept(this.#knowledge, life, () => new Map<string, Knowledge>());
    return kept(all, retailer, () => new Knowledge());
  }

  /** What judgements to come depend on, beside what the processes have seen. */
  get digest(): number {
    const digest = new Digest();
    digest.add(this.#disruptions);
    for (const [retailer, record] of this.#records) {
      const { leftIn, leftAt, connected, received } = record;
      digest.add(connected?.number ?? 0);
      digest.add(received.size);
      for (const life of this.#world.lives) {
        for (const call of life.calls) {
          if (call.retailer !== retailer) continue;
          digest.add(record.nothingIn >= call.beganIn ? 1 : 0);
          digest.add(record.refusedIn >= call.beganIn ? 1 : 0);
          for (const [value, at] of leftIn) if (at >= call.beganIn) digest.add(digestOf(value));
        }
      }
      if (this.#world.scenario.cacheMs > 0)
        for (const [value, at] of leftAt) digest.add(digestOf(value) + at);
    }
    return digest.key;
  }

  /** After every step, when all that was ready has run: what is true at this instant. */
  instant(): void {
    const { seq, service, lives } = this.#world;
    for (const [retailer, record] of this.#records) {
      const { stored } = record;
      if (!stored) record.nothingIn = seq;
      else if (service.refused.has(stored.refreshToken)) record.refusedIn = seq;
      for (const life of lives) this.#nobodyWaits(life, retailer);
    }
  }

  // The store

  loadsOf(life: Life, retailer: string): number {
    return this.knows(life, retailer).loads;
  }

  loadSent(life: Life, retailer: string): Load {
    const knowledge = this.knows(life, retailer);
    knowledge.loads += 1;
    knowledge.asking += 1;
    return { retailer, number: knowledge.loads, changes: knowledge.changes };
  }

  loadReached(life: Life, { retailer }: Load, set: TokenSet | undefined): void {
    if (set) this.knows(life, retailer).reached.push(set);
  }

  loadAnswered(life: Life, load: Load, answer: Answer<TokenSet | undefined>): void {
    const knowledge = this.knows(life, load.retailer);
    if (!this.#hasAnswer(life, load.retailer, answer)) return;
    knowledge.learned(answer.value, load.changes);
    const isLive = this.#isLive(life, knowledge, answer.value);
    knowledge.found.set(load.number, { set: answer.value, isLive, changes: load.changes });
  }

  /** Something else was asked of the store. Returns what its answer is compared with. */
  storeAsked(life: Life, retailer: string): number {
    const knowledge = this.knows(life, retailer);
    knowledge.asking += 1;
    return knowledge.changes;
  }

  saveAnswered(life: Life, next: TokenSet, changes: number, answer: Answer<boolean>): void {
    const knowledge = this.knows(life, next.domainPrefix);
    if (this.#hasAnswer(life, next.domainPrefix, answer) && answer.value) knowledge.learned(next, changes);
  }

  removeAnswered(life: Life, retailer: string, changes: number, answer: Answer<void>): void {
    const knowledge = this.knows(life, retailer);
    if (this.#hasAnswer(life, retailer, answer)) knowledge.learned(undefined, changes);
  }

  /** What was given up stays a question for the rest of the run: only core's own deadline says when it ended. */
  #hasAnswer<T>(life: Life, retailer: string, answer: Answer<T>): answer is { readonly value: T } {
    if (!("givenUp" in answer)) this.knows(life, retailer).asking -= 1;
    if (!("value" in answer)) this.failed(life, retailer);
    return "value" in answer;
  }

  /** The store or the lock failed a process, or soon will. */
  failed(life: Life, retailer: string): void {
    this.knows(life, retailer).failedAt = life.now + DEADLINE_MS;
  }

  stoodStill(life: Life): void {
    this.#disruptions += 1;
    for (const retailer of this.#knowledge.get(life)?.keys() ?? []) this.failed(life, retailer);
  }

  disrupted(): void {
    this.#disruptions += 1;
  }

  /** A run begins with this login in the store. */
  begins(set: TokenSet): void {
    const record = this.of(set.domainPrefix);
    record.stored = set;
    record.connected = this.#world.service.familyOf(set.access.value);
    record.received.add(set.refreshToken);
  }

  /** A save takes effect. */
  saved(life: Life, stored: TokenSet | undefined, next: TokenSet, replacing: TokenSet | undefined): void {
    const { domainPrefix: retailer } = next;
    const record = this.of(retailer);
    const isLogin = replacing === undefined;
    if (isLogin) {
      const isUnderWay = this.#world.logins.has(next.access.value);
      this.must(
        isUnderWay,
        "disconnected",
        () => `${life.name} stores ${next.access.value} over whatever is there`,
      );
      record.connected = this.#world.service.familyOf(next.access.value);
    } else if (stored) {
      const isNewer =
        isNotOlder(next.refreshToken, stored.refreshToken) &&
        isNotOlder(next.access.value, stored.access.value);
      this.must(
        isNewer,
        "login",
        () => `${life.name} stores ${next.refreshToken} over ${stored.refreshToken}`,
      );
    }
    const isMarkTrue = next.refusedAt === undefined || this.#world.service.refused.has(next.refreshToken);
    this.must(isMarkTrue, "mark", () => `${life.name} marks ${next.refreshToken}, which was not refused`);
    record.received.add(next.refreshToken);
    this.#left(record);
    record.stored = next;
  }

  removed(retailer: string): void {
    const record = this.of(retailer);
    this.#left(record);
    record.stored = undefined;
    record.connected = undefined;
  }

  #left(record: Record): void {
    if (!record.stored) return;
    record.leftIn.set(record.stored.access.value, this.#world.seq - 1);
    record.leftAt.set(record.stored.access.value, this.#world.now);
  }

  /** A process was given the lock. */
  locked(life: Life, retailer: string): void {
    const knowledge = this.knows(life, retailer);
    knowledge.reached = [];
    knowledge.lockedAfter = this.#disruptions;
  }

  // The token endpoint

  requestSent(life: Life, retailer: string, refreshToken: string): Request {
    const knowledge = this.knows(life, retailer);
    const { requests } = this.of(retailer);
    // What was reloaded first: a later look of somebody else may have found a mark, and says nothing of this.
    const reached = knowledge.reached.find((set) => set.refreshToken === refreshToken);
    const now = life.now;
    const by = `${life.name} sends ${refreshToken}`;
    this.must(
      !knowledge.replaced.has(refreshToken),
      "spent",
      () => `${by}, and was given the one that replaces it`,
    );
    const isReloaded = reached !== undefined || knowledge.failedAt !== undefined;
    this.must(isReloaded, "spent", () => `${by}, which it has not read under the lock`);
    const isMarked =
      this.#world.jumps === 0 &&
      reached?.refusedAt !== undefined &&
      Math.abs(now - reached.refusedAt) < HOUR_MS;
    this.must(!isMarked, "spent", () => `${by}, which is marked as refused`);
    const instead = reached?.access.value;
    for (const before of requests) {
      if (before.refreshToken !== refreshToken || before.disruptions !== this.#disruptions) continue;
      if (knowledge.lockedAfter !== this.#disruptions) continue;
      const isAgain = before.instead === instead && before.state !== "failed";
      this.must(!isAgain, "once", () => `${by} in place of ${instead}, as somebody has`);
      const isLimited = now < before.limitedUntil && this.#world.jumps === 0;
      this.must(!isLimited, "pause", () => `${by}, and somebody was answered 429`);
    }
    if (this.#world.jumps === 0) this.#isInTime(life, knowledge, reached, by);
    const disruptions = knowledge.lockedAfter;
    const sentIn = this.#world.seq;
    const request: Request = {
      refreshToken,
      instead,
      sentIn,
      disruptions,
      state: "under way",
      limitedUntil: 0,
    };
    requests.push(request);
    return request;
  }

  #isInTime(life: Life, knowledge: Knowledge, reached: TokenSet | undefined, by: string): void {
    const { now } = life;
    if (reached)
      this.must(
        isNeeded(reached, knowledge, now),
        "need",
        () => `${by} for ${reached.access.value}, which is good`,
      );
    const { endpointFailedAt: failedAt, limitedUntil = 0 } = knowledge;
    const isTooSoon = failedAt !== undefined && now >= failedAt && now < failedAt + PAUSE_MS;
    this.must(!isTooSoon, "pause", () => `${by} at once again`);
    const noted = Math.max(limitedUntil, reached?.limitedUntil ?? 0);
    const isLimited = now < noted && noted - now <= HOUR_MS;
    this.must(!isLimited, "pause", () => `${by} before the reset`);
  }

  requestAnswered(life: Life, request: Request, answer: Answer<ServiceAnswer>): void {
    const { retailer } = partsOf(request.refreshToken);
    const knowledge = this.knows(life, retailer);
    const { status = 0, issued, resetAt } = "value" in answer ? answer.value : {};
    request.state = issued ? "answered" : "failed";
    if (issued) {
      if (issued.refreshToken !== request.refreshToken) knowledge.replaced.add(request.refreshToken);
      knowledge.issued.set(issued.access, request.sentIn);
      this.of(retailer).received.add(issued.refreshToken);
    } else if (status !== 400) {
      knowledge.endpointFailedAt = life.now;
      if (resetAt === undefined) return;
      knowledge.limitedUntil = resetAt;
      request.limitedUntil = resetAt;
      request.disruptions = this.#disruptions; // the 429 itself was one
    }
  }

  // Those who ask

  asked(call: Call): void {
    this.of(call.retailer);
    if (call.rejected !== undefined) this.knows(call.life, call.retailer).rejected.add(call.rejected);
  }

  answered(call: Call, outcome: NonNullable<Call["outcome"]>): void {
    if ("token" in outcome) this.#given(call, outcome.token);
    else this.#refused(call, outcome.error);
  }

  #given(call: Call, { value, expiresAt }: AccessToken): void {
    const { life, retailer } = call;
    const knowledge = this.knows(life, retailer);
    const record = this.of(retailer);
    const { cacheMs } = this.#world.scenario;
    const given = `${life.name} is given ${value}`;
    this.must(partsOf(value).retailer === retailer, "others", () => `${given} for ${retailer}`);
    knowledge.given = value;
    const issuedIn = knowledge.issued.get(value);
    const isIssuedHere = issuedIn !== undefined && issuedIn > call.beganIn;
    const isLive = expiresAt === undefined || life.now < expiresAt;
    this.must(isLive || isIssuedHere, "ended", () => `${given}, which has ended`);
    this.must(!knowledge.rejected.has(value), "rejected", () => given);
    const isStored = record.stored?.access.value === value;
    const wasStored = (record.leftIn.get(value) ?? -1) >= call.beganIn;
    const goneForMs = this.#world.now - (record.leftAt.get(value) ?? Number.NEGATIVE_INFINITY);
    const isCached =
      cacheMs > 0 && (goneForMs < cacheMs + this.#world.now - this.#begunAt(call) || this.#world.jumps > 0);
    const isFailed = knowledge.failedAt !== undefined && call.beganAt - knowledge.failedAt <= cacheMs;
    const isUnsaved = issuedIn !== undefined && knowledge.failedAt !== undefined;
    const isCurrent = isStored || wasStored || isCached || isFailed || isUnsaved;
    this.must(isCurrent, "current", () => `${given}, which the store had not held for ${goneForMs} ms`);
  }

  /** By the world's clock. */
  #begunAt(call: Call): number {
    return this.#world.now - (call.life.now - call.beganAt);
  }

  #refused(call: Call, error: unknown): void {
    const { life, retailer } = call;
    const record = this.of(retailer);
    const knowledge = this.knows(life, retailer);
    const code = Object(error).code as string | undefined;
    const told = `${life.name} is told ${code ?? error}`;
    if (code === "not_connected") {
      const wasAbsent = record.nothingIn >= call.beganIn;
      this.must(wasAbsent, "absent", () => `${told}, and the store held tokens throughout`);
    } else if (code === "reconnect_required") {
      const wasRefused = record.refusedIn >= call.beganIn;
      this.must(wasRefused, "verdict", () => `${told}, and the store held no refused set`);
    } else {
      const isKnown = ["store_failed", "token_endpoint_failed", "rate_limited"].includes(code ?? "");
      this.must(isKnown && this.#world.troubles > 0, "fails", () => `${told}, and nothing has failed`);
      const isGiven = knowledge.given !== undefined && knowledge.given === knowledge.set?.access.value;
      const isKept = isGiven && !life.runsTheJob;
      const isHeld = isKept && !knowledge.isInDoubt && this.#isLive(life, knowledge, knowledge.set);
      this.must(!isHeld, "fails", () => `${told}, and holds ${knowledge.set?.access.value}`);
    }
  }

  observed(life: Life, event: RetailPosEvent): void {
    if (event.type !== "reconnect_required") return;
    const { refusedIn } = this.of(event.domainPrefix);
    this.must(
      refusedIn >= 0,
      "verdict",
      () => `${life.name} observes that ${event.domainPrefix} has to log in again`,
    );
  }

  /** Whose own question found a live token, and nothing else became known since, has been answered. */
  #nobodyWaits(life: Life, retailer: string): void {
    // A renewal that began before the clock was set back goes on, though the token lives again.
    if (life.calls.size === 0 || this.#world.jumps > 0) return;
    const knowledge = this.knows(life, retailer);
    if (knowledge.asking > 0 || life.turns > 0) return;
    for (const call of life.calls) {
      if (call.retailer !== retailer) continue;
      const found = knowledge.found.get(call.firstLoad);
      if (
        !found?.isLive ||
        found.set?.version !== knowledge.set?.version ||
        found.changes + 1 < knowledge.changes
      )
        continue;
      if (knowledge.isInDoubt) continue;
      const isHeld = this.#isLive(life, knowledge, found.set);
      this.must(
        !isHeld,
        "waits",
        () => `${life.name} has found ${found.set?.access.value} for a caller who waits`,
      );
    }
  }

  #isLive(life: Life, { rejected }: Knowledge, set: TokenSet | undefined): boolean {
    if (!set || rejected.has(set.access.value)) return false;
    return set.access.expiresAt === undefined || life.now < set.access.expiresAt;
  }

  // The end

  /** A process has ended: what it alone had is gone with it, and no client can help that. */
  died(life: Life): void {
    this.#disruptions += 1;
    for (const [retailer, { issued }] of this.#knowledge.get(life) ?? []) {
      const record = this.of(retailer);
      const accepted = this.#world.service.accepted(retailer);
      if (issued.size > 0 && accepted !== undefined && record.stored?.refreshToken !== accepted)
        record.received.delete(accepted);
    }
  }

  /** Everything is well again and everybody has asked: what was not lost has to be there. */
  atTheEnd(): void {
    for (const [retailer, { connected, stored, received }] of this.#records) {
      const accepted = this.#world.service.accepted(retailer);
      if (!connected || accepted === undefined || this.#world.service.familyOf(accepted) !== connected)
        continue;
      if (!received.has(accepted)) continue;
      const isStored = stored?.refreshToken === accepted;
      this.must(
        isStored,
        "loss",
        () => `the store holds ${stored?.refreshToken ?? "nothing"}, and not ${accepted}`,
      );
    }
  }

  /** The same, of one who asked then. */
  works({ life, retailer, outcome }: Call): void {
    const { stored } = this.of(retailer);
    const isGood = stored !== undefined && this.#world.service.accepted(retailer) === stored.refreshToken;
    const what = outcome && "error" in outcome ? String(Object(outcome.error).code) : "no answer";
    this.must(
      !isGood || (outcome !== undefined && "token" in outcome),
      "works",
      () => `${life.name} gets ${what} in the end`,
    );
  }
}

/** Tokens are numbered in the order in which they were issued: by login, then by refresh. */
function isNotOlder(next: string, than: string): boolean {
  const [one, other] = [partsOf(next), partsOf(than)];
  return one.number > other.number || (one.number === other.number && one.index >= other.index);
}

function isNeeded(set: TokenSet, { rejected }: Knowledge, now: number): boolean {
  const { value, expiresAt = Number.POSITIVE_INFINITY } = set.access;
  return rejected.has(value) || now >= expiresAt - Math.min(EARLY_MS, (expiresAt - set.issuedAt) / 10);
}

/** What the map has for a key, made if it is not there yet. */
function kept<Key, Value>(map: Map<Key, Value>, key: Key, make: () => Value): Value {
  const found = map.get(key);
  if (found !== undefined) return found;
  const made = make();
  map.set(key, made);
  return made;
}
