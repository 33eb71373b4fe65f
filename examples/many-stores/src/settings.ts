import { isIP } from "node:net";
import { fileURLToPath } from "node:url";
import { settingsFromEnv } from "@retail-pos/core";
import { sealingKeys } from "@retail-pos/sealed-store";
import { cleanEnv, EnvMissingError, makeExactValidator, str } from "envalid";

const CALLBACK = "/auth/retail-pos/callback";
/** The sandbox on this machine, which is used if none of the service's settings is given. */
const SANDBOX = {
  RETAIL_POS_AUTH_URL: "http://127.0.0.1:4010",
  RETAIL_POS_BASE_URL: "http://127.0.0.1:4010/stores/{domain_prefix}",
  RETAIL_POS_CLIENT_ID: "sandbox-application",
  RETAIL_POS_CLIENT_SECRET: "sandbox-application-secret",
};

export type Settings = ReturnType<typeof settingsFrom>;

/** @throws {TypeError} naming every variable that is missing or wrong, without its value: it may be a secret. */
export function settingsFrom(variables: NodeJS.ProcessEnv) {
  // An empty variable is a missing one: container tools pass those on.
  const given = Object.fromEntries(Object.entries(variables).filter(([, text]) => text?.trim()));
  const redirectUri = `http://localhost:${given["PORT"] ?? 3000}${CALLBACK}`;
  const sandbox = { ...SANDBOX, RETAIL_POS_REDIRECT_URI: redirectUri };
  const isBare = given["NODE_ENV"] !== "production" && !Object.keys(sandbox).some((name) => name in given);
  const all: NodeJS.ProcessEnv = isBare ? { ...given, ...sandbox } : given;
  const env = cleanEnv(all, rulesFor(all), {
    reporter({ errors }) {
      const why = (error: Error) => (error instanceof EnvMissingError ? "is missing" : error.message);
      const problems = Object.entries(errors).map(([name, error]) => `\n- ${name} ${why(error)}`);
      if (problems.length > 0) throw new TypeError(`The settings are not complete:${problems.join("")}`);
    },
  });
  return { ...env, service: { ...settingsFromEnv(all), redirectUri: env.RETAIL_POS_REDIRECT_URI } };
}

/** What each setting has to be, and its default if it has one. */
function rulesFor(env: NodeJS.ProcessEnv) {
  const { RETAIL_POS_REDIRECT_URI: redirectUri = "", RETAIL_POS_CLIENT_SECRET: clientSecret } = env;
  const at = URL.canParse(redirectUri) ? new URL(redirectUri) : undefined;
  const isHere = /^(localhost|.+\.localhost|127(\.\d+){3}|\[::1\])$/.test(at?.hostname ?? "");
  const proxies = at?.protocol === "https:" ? 1 : 0; // we speak plain HTTP, so a proxy ends TLS
  const ours = rule((text) => !isHere && Object.values(SANDBOX).includes(text) && "is the sandbox's");
  const address = rule((text) => !isIP(text) && "must be an IP address");
  const secret = rule(
    (text) =>
      (text.length < 32 && "must be 32 characters or more") ||
      (text === clientSecret && "must not be the client secret"),
  );
  return {
    RETAIL_POS_AUTH_URL: str(),
    RETAIL_POS_BASE_URL: str(),
    RETAIL_POS_CLIENT_ID: ours(),
    RETAIL_POS_CLIENT_SECRET: ours(),
    RETAIL_POS_REDIRECT_URI: rule(() => at?.pathname !== CALLBACK && `must have the path ${CALLBACK}`)(),
    SESSION_SECRET: secret(isHere ? { default: crypto.randomUUID() + crypto.randomUUID() } : {}),
    PORT: wholeNumber(0, 65_535)({ default: 3000 }),
    HOST: address({ default: "127.0.0.1" }),
    TRUST_PROXY: wholeNumber(proxies, 10)({ default: proxies }),
    DATABASE_FILE: str({ default: fileURLToPath(new URL("../data/stores.sqlite", import.meta.url)) }),
    // The first key seals tokens, all of them open. Without one, tokens are kept as they are.
    TOKEN_KEYS: makeExactValidator(sealingKeys)({ default: [] }),
    STORES_AT_ONCE: wholeNumber(1, 100)({ default: 4 }),
  };
}

/** A text that has no problem. */
function rule(problemOf: (text: string) => string | false) {
  return makeExactValidator<string>((text) => {
    const problem = problemOf(text);
    if (problem) throw new TypeError(problem);
    return text;
  });
}

function wholeNumber(least: number, most: number) {
  return makeExactValidator<number>((text) => {
    if (/^\d{1,9}$/.test(text) && Number(text) >= least && Number(text) <= most) return Number(text);
    throw new TypeError(`must be a whole number from ${least} to ${most}`);
  });
}
