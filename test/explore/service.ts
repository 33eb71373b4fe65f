import { digestOf } from "./digest.js";
import type { World } from "./world/world.js";

export const DAY_MS = 86_400_000;
/** How long a 429 lasts. */
export const LIMIT_MS = 60_000;

/** A login and the tokens that were issued on it, one after the other. */
export interface Family {
  readonly retailer: string;
  /** Logins of one retailer are numbered; a later one ends the earlier. */
  readonly number: number;
  access: number;
  refresh: number;
  isEnded: boolean;
  /** When its access token ends, by the world's clock. */
  endsAt: number;
}

export interface Issued {
  readonly access: string;
  readonly refreshToken: string;
}

/** An answer of the token endpoint, as far as core looks at it. */
export interface ServiceAnswer {
  readonly status: number;
  readonly body: string;
  readonly issued?: Issued;
  readonly resetAt?: number;
  /** Refused because the access token is still valid. */
  readonly isTooEarly?: boolean;
}

/** The service of the spec, as strict as one may be: a spent refresh token is refused, a new login ends the old. */
export class Service {
  readonly #world: World;
  readonly #families = new Map<string, Family[]>();
  /** The refresh tokens that were refused, and so were spent or ended. */
  readonly refused = new Set<string>();
  /** Its next answer is late. */
  #isSlow = false;
  #digest = 0;

  constructor(world: World) {
    this.#world = world;
  }

  get digest(): number {
    return this.#digest;
  }

  /** What a login at the consent page brings. */
  logIn(retailer: string): Issued {
    const all = this.#families.get(retailer) ?? [];
    for (const family of all) family.isEnded = true;
    const number = all.length + 1;
    const family: Family = { retailer, number, access: 0, refresh: 0, isEnded: false, endsAt: this.#endsAt };
    this.#families.set(retailer, [...all, family]);
    this.#changed(`login ${retailer} ${family.number}`);
    return issued(family);
  }

  /** 4.3 */
  refresh(refreshToken: string): ServiceAnswer {
    const family = this.familyOf(refreshToken);
    if (!family || family.isEnded || issued(family).refreshToken !== refreshToken) {
      this.refused.add(refreshToken);
      this.#changed(`refused ${refreshToken}`);
      return { status: 400, body: '{"error":"invalid_grant"}' };
    }
    if (this.#world.scenario.refusesEarly && this.#world.now < family.endsAt)
      return { status: 400, body: '{"error":"invalid_grant"}', isTooEarly: true };
    family.access += 1;
    family.endsAt = this.#endsAt;
    if (this.#world.scenario.rotates) family.refresh += 1;
    this.#changed(`refreshed ${refreshToken}`);
    const { access, refreshToken: next } = issued(family);
    const fields = {
      access_token: access,
      token_type: "Bearer",
      expires_in: this.#world.scenario.lifetimeMs / 1000,
      ...(this.#world.scenario.rotates && { refresh_token: next }),
    };
    return { status: 200, body: JSON.stringify(fields), issued: { access, refreshToken: next } };
  }

  /** A person takes the application's access away. */
  revoke(retailer: string): void {
    for (const family of this.#families.get(retailer) ?? []) family.isEnded = true;
    this.#changed(`revoked ${retailer}`);
  }

  /** Its next answer comes after callers have given it up. */
  slowDown(): void {
    this.#isSlow = true;
    this.#changed("slow");
  }

  /** Whether the answer that it gives now is late. */
  takesLate(): boolean {
    const isLate = this.#isSlow && !this.#world.isHealed;
    this.#isSlow = false;
    if (isLate) this.#changed("no longer slow");
    return isLate;
  }

  familyOf(token: string): Family | undefined {
    const { retailer, number } = partsOf(token);
    return this.#families.get(retailer)?.[number - 1];
  }

  /** The refresh token that the service would take now. */
  accepted(retailer: string): string | undefined {
    const family = this.#families.get(retailer)?.at(-1);
    return family && !family.isEnded ? issued(family).refreshToken : undefined;
  }

  /** The end of a token that is issued now. */
  get #endsAt(): number {
    return this.#world.now + this.#world.scenario.lifetimeMs;
  }

  #changed(what: string): void {
    this.#digest = digestOf(`${this.#digest} ${what}`);
  }
}

function issued({ retailer, number, access, refresh }: Family): Issued {
  return { access: `a-${retailer}-${number}-${access}`, refreshToken: `r-${retailer}-${number}-${refresh}` };
}

/** A token says whose it is, and which of how many: what a judge may know, and core may not. */
export function partsOf(token: string): { retailer: string; number: number; index: number } {
  const [, retailer = "", number, index] = token.split("-");
  return { retailer, number: Number(number), index: Number(index) };
}
