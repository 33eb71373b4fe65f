import { randomBytes } from "node:crypto";
import { isIP } from "node:net";
import { fileURLToPath } from "node:url";
import { settingsFromEnv } from "@retail-pos/core";
import { cleanEnv, EnvMissingError, makeValidator, str } from "envalid";

/** The sandbox on this machine, which is used if none of these is given. */
const SANDBOX = {
  RETAIL_POS_AUTH_URL: "http://127.0.0.1:4010",
  RETAIL_POS_BASE_URL: "http://127.0.0.1:4010/stores/{domain_prefix}",
  RETAIL_POS_CLIENT_ID: "sandbox-application",
  RETAIL_POS_CLIENT_SECRET: "sandbox-application-secret",
};
const CALLBACK = "/auth/retail-pos/callback";

/**
 * Reads the environment.
 *
 * @throws {TypeError} naming every variable that is missing or wrong.
 */
export function settingsFrom(variables: NodeJS.ProcessEnv) {
  const given = Object.fromEntries(Object.entries(variables).filter(([, value]) => value?.trim()));
  const names = [...Object.keys(SANDBOX), "RETAIL_POS_REDIRECT_URI"];
  const isBare = given["NODE_ENV"] !== "production" && names.every((name) => given[name] === undefined);
  const sandbox = {
    ...SANDBOX,
    RETAIL_POS_REDIRECT_URI: `http://localhost:${given["PORT"] ?? 3000}${CALLBACK}`,
  };
  const all = { ...(isBare && sandbox), ...given };
  const at = urlOf(all["RETAIL_POS_REDIRECT_URI"]);
  const isHere = at !== undefined && /^(localhost|.+\.localhost|127(\.\d+){3}|\[::1\])$/.test(at.hostname);
  const isBehindGateway = given["RETAILER_FROM"] === "gateway";
  const proxies = at?.protocol === "https:" ? 1 : 0; // we speak plain HTTP, so a proxy ends TLS
  const ours = isHere ? str() : notOfSandbox();
  const env = cleanEnv(
    all,
    {
      RETAIL_POS_AUTH_URL: str(),
      RETAIL_POS_BASE_URL: str(),
      RETAIL_POS_CLIENT_ID: ours,
      RETAIL_POS_CLIENT_SECRET: ours,
      RETAIL_POS_REDIRECT_URI: callback(),
      PORT: wholeNumber(0, 65_535)({ default: 3000 }),
      HOST: address({ default: "127.0.0.1" }),
      RETAILER_FROM: str({ choices: ["login", "gateway"], default: "login" }),
      TRUST_PROXY: wholeNumber(proxies, 10)({ default: proxies }),
      SESSION_SECRET: secretBeside(all["RETAIL_POS_CLIENT_SECRET"])(
        isHere || isBehindGateway ? { default: randomBytes(32).toString("hex") } : {},
      ),
      DATABASE_FILE: str({ default: fileURLToPath(new URL("../data/login.sqlite", import.meta.url)) }),
    },
    { reporter: refuse },
  );
  // A request behind a gateway may name any store: see namedByGateway().
  const HOST = isBehindGateway ? "127.0.0.1" : env.HOST;
  return { ...env, HOST, service: { ...settingsFromEnv(all), redirectUri: env.RETAIL_POS_REDIRECT_URI } };
}
export type Settings = ReturnType<typeof settingsFrom>;

const notOfSandbox = makeValidator((text) =>
  Object.values(SANDBOX).includes(text) ? wrong("is the sandbox's") : text,
);
const callback = makeValidator((text) =>
  urlOf(text)?.pathname === CALLBACK ? text : wrong(`must have the path ${CALLBACK}`),
);
const address = makeValidator((text) => (isIP(text) ? text : wrong("must be an IP address")));
const secretBeside = (clientSecret = "") =>
  makeValidator((text) => {
    if (text.length < 32) return wrong("must be 32 characters or more");
    return text === clientSecret ? wrong("must not be the client secret") : text;
  });
const wholeNumber = (least: number, most: number) =>
  makeValidator((text) =>
    /^\d{1,9}$/.test(text) && Number(text) >= least && Number(text) <= most
      ? Number(text)
      : wrong(`must be a whole number from ${least} to ${most}`),
  );
const urlOf = (text = "") => (URL.canParse(text) ? new URL(text) : undefined);

function wrong(why: string): never {
  throw new Error(why);
}

/** No value is shown: it may be a secret. */
function refuse({ errors }: { errors: Partial<Record<string, Error>> }): void {
  const problems = Object.entries(errors).map(
    ([name, error]) => `${name} ${error instanceof EnvMissingError ? "is missing" : error?.message}`,
  );
  if (problems.length > 0) throw new TypeError(`The settings are not complete:\n- ${problems.join("\n- ")}`);
}
