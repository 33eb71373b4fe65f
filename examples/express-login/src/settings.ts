import { fileURLToPath } from "node:url";
import { settingsFromEnv } from "@retail-pos/core";
import { cleanEnv, EnvMissingError, host, makeExactValidator, str } from "envalid";

const CALLBACK = "/auth/retail-pos/callback";

export type Settings = ReturnType<typeof settingsFrom>;

/** @throws {TypeError} naming every setting that is missing or wrong, without its value. */
export function settingsFrom(variables: NodeJS.ProcessEnv) {
  // An empty variable is a missing one: container tools pass those on.
  const given = Object.fromEntries(Object.entries(variables).filter(([, text]) => text?.trim()));
  const problems: string[] = [];
  const env = cleanEnv(given, rulesFor(given), {
    reporter({ errors }) {
      for (const [name, error] of Object.entries(errors))
        problems.push(`${name} ${error instanceof EnvMissingError ? "is missing" : error.message}`);
    },
  });
  try {
    const service = settingsFromEnv(given);
    if (problems.length === 0) {
      const { RETAIL_POS_AUTH_URL: authUrl, RETAIL_POS_REDIRECT_URI: redirectUri } = env;
      return { ...env, service: { ...service, authUrl, redirectUri } };
    }
  } catch (error) {
    const [, ofService = ""] = /complete: (.*?)(; if people.*)?$/.exec((error as Error).message) ?? [];
    problems.push(...ofService.split(/; (?=RETAIL_POS_)/));
  }
  throw new TypeError(`The settings are not complete:\n- ${[...new Set(problems)].join("\n- ")}`);
}

/** What each setting has to be, and its default if it has one. */
function rulesFor(env: NodeJS.ProcessEnv) {
  const at = urlOf(env["RETAIL_POS_REDIRECT_URI"]);
  const isHttps = at?.protocol === "https:";
  const isHere = at !== undefined && /^(localhost|.+\.localhost|127(\.\d+){3}|\[::1\])$/.test(at.hostname);
  const proxies = isHttps ? 1 : 0; // we speak plain HTTP, so a proxy ends TLS
  const ours = (text: string) => !isHere && text.startsWith("sandbox-") && "is the sandbox's";
  const optional = { default: undefined };
  return {
    RETAIL_POS_AUTH_URL: str(),
    RETAIL_POS_BASE_URL: str(),
    RETAIL_POS_CLIENT_ID: rule(ours)(),
    RETAIL_POS_CLIENT_SECRET: rule(ours)(),
    RETAIL_POS_REDIRECT_URI: rule(
      (text) => urlOf(text)?.pathname !== CALLBACK && `must have the path ${CALLBACK}`,
    )(),
    SESSION_SECRET: rule(
      (text) =>
        ours(text) ||
        (text.length < 32 && "must be 32 characters or more") ||
        (text === env["RETAIL_POS_CLIENT_SECRET"] && "must not be the client secret"),
    )(),
    PORT: wholeNumber(0, 65_535)({ default: 3000 }),
    HOST: host({ default: "127.0.0.1" }),
    TRUST_PROXY: wholeNumber(proxies, 10)({ default: proxies }),
    WORKERS: wholeNumber(1, 1000)({ default: 1 }),
    DATABASE_URL: rule((text) => !/^postgres(ql)?:/.test(text) && "must begin with postgresql://")(optional),
    REDIS_URL: rule(
      (text) =>
        (!/^rediss?:/.test(text) && "must begin with redis:// or rediss://") ||
        ("DATABASE_URL" in env && "must not stand beside DATABASE_URL: one of them keeps everything"),
    )(optional),
    DATABASE_FILE: str({ default: fileURLToPath(new URL("../data/login.sqlite", import.meta.url)) }),
    NAMESPACE: rule((text) => !/^[a-z_][a-z0-9_]{0,39}$/.test(text) && "must be of a-z, 0-9 and _")({
      default: "express_login",
    }),
  };
}

/** A text that has no problem. */
function rule(problemOf: (text: string) => string | false | undefined) {
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

const urlOf = (text = "") => (URL.canParse(text) ? new URL(text) : undefined);
