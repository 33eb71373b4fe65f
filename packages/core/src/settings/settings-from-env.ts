import { baseUrlOf, connectUrlOf, redirectUri } from "./addresses.js";
import { refuseStrayCharacters } from "./option-checks.js";

/** The options of `retailPos` that depend on the service and on the registered application. */
export interface Settings {
  /** {auth_url}. A program without logins has neither `authUrl` nor `redirectUri`. */
  authUrl?: string;
  /** {base_url} as a template, with `{domain_prefix}`. */
  baseUrl: string;
  /** The registered application's `client_id` (2.1). */
  clientId: string;
  /** The registered application's `client_secret`. */
  clientSecret: string;
  /** The redirect URI, exactly as registered. */
  redirectUri?: string;
  /** The scope of the authorization request. Without it none is sent (R1). */
  scope?: string;
}

/**
 * Reads the variables `RETAIL_POS_AUTH_URL`, `_BASE_URL`, `_CLIENT_ID`, `_CLIENT_SECRET`, `_REDIRECT_URI` and `_SCOPE`,
 * for use as `retailPos({ ...settingsFromEnv(), ... })`. An empty variable counts as missing. A program without logins
 * may leave out both `_AUTH_URL` and `_REDIRECT_URI`.
 *
 * @param env default `process.env`, if there is a `process`.
 * @throws {TypeError} a variable is missing or wrong. The message names every such variable, and shows no value.
 */
export function settingsFromEnv(
  env: Record<string, string | undefined> = globalThis.process?.env ?? {},
): Settings {
  const problems: string[] = [];
  const read = (name: string) => env[`RETAIL_POS_${name}`]?.trim() && env[`RETAIL_POS_${name}`];
  const [authUrl, redirectTo, scope] = [read("AUTH_URL"), read("REDIRECT_URI"), read("SCOPE")];

  /** Reads a variable; adds a problem to the list if it is missing or the check throws. */
  function wanted(
    name: string,
    check: (variable: string, value: string) => unknown = refuseStrayCharacters,
  ): string {
    const [variable, value] = [`RETAIL_POS_${name}`, read(name)];
    if (!value) problems.push(`${variable} is missing`);
    else {
      try {
        check(variable, value);
      } catch (error) {
        problems.push((error as Error).message);
      }
    }
    return value ?? "";
  }

  const settings = {
    ...((authUrl || redirectTo) && {
      authUrl: wanted("AUTH_URL", connectUrlOf),
      redirectUri: wanted("REDIRECT_URI", redirectUri),
    }),
    baseUrl: wanted("BASE_URL", (name, value) => baseUrlOf(value, name)),
    clientId: wanted("CLIENT_ID"),
    clientSecret: wanted("CLIENT_SECRET"),
    ...(scope && { scope: wanted("SCOPE") }),
  };
  if (problems.length === 0) return settings;
  // Both may be missing, so they are no problems yet. Named here, a program with logins learns of all at once.
  if (!authUrl && !redirectTo && problems.some((problem) => problem.endsWith(" is missing")))
    problems.push("if people log in, RETAIL_POS_AUTH_URL and RETAIL_POS_REDIRECT_URI are missing too");
  throw new TypeError(`The environment is not complete: ${problems.join("; ")}`);
}
