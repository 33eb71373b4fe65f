import { fingerprintOf, type KeptSecret, newSecret } from "../secrets.js";

/** R7: admin users of a retailer create personal tokens. When they reset their password, their tokens are deleted. */
export interface PersonalTokens {
  /** Throws a TypeError if the user is no admin. */
  create(domainPrefix: string, user: string): string;
  /** Deletes the user's tokens; answers how many. Throws a TypeError for an unknown user. */
  resetPassword(domainPrefix: string, user: string): number;
  accepts(domainPrefix: string, token: string): boolean;
  of(domainPrefix: string): readonly PersonalToken[];
}

export interface PersonalToken extends KeptSecret {
  readonly user: string;
}

/** Every store has the same staff. */
export const users: readonly { readonly name: string; readonly admin: boolean }[] = [
  { name: "owner", admin: true },
  { name: "manager", admin: true },
  { name: "cashier", admin: false },
];

export function personalTokens(): PersonalTokens {
  const byRetailer = new Map<string, PersonalToken[]>();
  const of = (domainPrefix: string) => byRetailer.get(domainPrefix) ?? [];

  return {
    of,
    create(domainPrefix, user) {
      if (!userNamed(user).admin)
        throw new TypeError(`user "${user}" is no admin and cannot create personal tokens`);
      const { value, kept } = newSecret("personal");
      byRetailer.set(domainPrefix, [...of(domainPrefix), { ...kept, user }]);
      return value;
    },
    resetPassword(domainPrefix, user) {
      const { name } = userNamed(user);
      const before = of(domainPrefix);
      const after = before.filter((token) => token.user !== name);
      byRetailer.set(domainPrefix, after);
      return before.length - after.length;
    },
    accepts(domainPrefix, token) {
      const fingerprint = fingerprintOf(token);
      return of(domainPrefix).some((kept) => kept.fingerprint === fingerprint);
    },
  };
}

function userNamed(user: string): { name: string; admin: boolean } {
  const found = users.find((known) => known.name === user);
  if (!found) throw new TypeError(`user must be one of: ${users.map((known) => known.name).join(", ")}`);
  return found;
}
