import { createHmac } from "node:crypto";
import { isIP } from "node:net";
import { type Settings as ServiceSettings, settingsFromEnv } from "@retail-pos/core";

/** The application that the sandbox knows, and where the sandbox listens. */
const SANDBOX = {
  RETAIL_POS_AUTH_URL: "http://127.0.0.1:4010",
  RETAIL_POS_BASE_URL: "http://127.0.0.1:4010/stores/{domain_prefix}",
  RETAIL_POS_CLIENT_ID: "sandbox-application",
  RETAIL_POS_CLIENT_SECRET: "sandbox-application-secret",
};

const REDIRECT_URI = "RETAIL_POS_REDIRECT_URI";
/** The path of our route. At another one whoever approved would find no page. */
const CALLBACK = "/auth/retail-pos/callback";
const MOST_PROXIES = 10;

/** What the program has to know about the service, and where the service sends people back to. */
export type Service = ServiceSettings & { redirectUri: string };

/** Reads settings. What is missing or wrong is noted, so that `check` can tell all of it at once, without a value. */
export function environment(env: NodeJS.ProcessEnv) {
  const problems: string[] = [];
  /** An empty variable is a missing one: container tools pass those on. */
  const read = (name: string) => (env[name]?.trim() ? env[name] : undefined);
  const note = (name: string, problem: string) => void problems.push(`${name} ${problem}`);

  const redirectUri = read(REDIRECT_URI);
  const isProduction = read("NODE_ENV") === "production";
  const isBare = [...Object.keys(SANDBOX), REDIRECT_URI].every((name) => read(name) === undefined);
  /** Never in production: an image whose settings were forgotten must not run with what everybody knows. */
  const isForSandbox = isBare && !isProduction;
  /** Whether everybody who comes here is on this machine. */
  const isForTrying = isForSandbox || (redirectUri !== undefined && isOnThisMachine(redirectUri));

  function wholeNumber(name: string, otherwise: number, least: number, most: number): number {
    const text = read(name) ?? String(otherwise);
    const number = /^\d{1,9}$/.test(text) ? Number(text) : -1;
    if (number < least || number > most) note(name, `must be a whole number from ${least} to ${most}`);
    return number;
  }

  /** The sandbox's, if none is given; else all of them, and none of the sandbox's for people from elsewhere. */
  function service(port: number): Service {
    const sandbox = { ...SANDBOX, [REDIRECT_URI]: `http://localhost:${port}${CALLBACK}` };
    const scope = read("RETAIL_POS_SCOPE");
    const given = Object.fromEntries(
      Object.entries(sandbox).map(([name, atSandbox]) => {
        const value = read(name);
        if (value === undefined && !isForSandbox) note(name, "is missing");
        if (value === atSandbox && name.includes("_CLIENT_") && !isForTrying) note(name, "is the sandbox's");
        return [name, value ?? atSandbox];
      }),
    );
    try {
      const found = settingsFromEnv({ ...given, ...(scope && { RETAIL_POS_SCOPE: scope }) });
      const { redirectUri = "" } = found;
      if (new URL(redirectUri).pathname !== CALLBACK)
        note(REDIRECT_URI, `must have the path ${CALLBACK}, where this program answers`);
      return { ...found, redirectUri };
    } catch (error) {
      problems.push(...(error as Error).message.replace(/^.*? is not complete: /, "").split("; "));
      return { baseUrl: "", clientId: "", clientSecret: "", redirectUri: "" };
    }
  }

  return {
    read,
    wholeNumber,
    service,

    port: () => wholeNumber("PORT", 3000, 0, 65_535),

    /** The address to listen on: all of this machine's, unless everybody who comes is on it. */
    host(): string {
      const host = read("HOST") ?? (isForTrying ? "127.0.0.1" : "0.0.0.0");
      if (isIP(host) === 0) note("HOST", "must be an IP address");
      return host;
    },

    /** How many proxies in front of us to believe. We speak plain HTTP: if our address is https, one ends TLS. */
    trustProxy({ redirectUri }: Service): number {
      const least = redirectUri.startsWith("https:") ? 1 : 0;
      return wholeNumber("TRUST_PROXY", least, least, MOST_PROXIES);
    },

    /** If everybody is on this machine, one is made of the client secret: with a random one a restart logs out. */
    sessionSecret({ clientSecret }: Service): string {
      const name = "SESSION_SECRET";
      const given = read(name);
      if (!isForTrying) {
        if (given === undefined) note(name, "is missing");
        else if (given.length < 32) note(name, "must be 32 characters or more");
        else if (given === clientSecret) note(name, "must not be the client secret");
      }
      return given ?? createHmac("sha256", clientSecret).update("sessions").digest("hex");
    },

    oneOf<T extends string>(name: string, values: readonly [T, ...T[]]): T {
      const found = values.find((value) => value === (read(name) ?? values[0]));
      if (found === undefined) note(name, `must be ${values.join(" or ")}`);
      return found ?? values[0];
    },

    note,

    /** @throws {TypeError} naming every setting that is missing or wrong. */
    check(): void {
      if (problems.length === 0) return;
      const isPart = problems.some((problem) => /^RETAIL_POS_\w+ is missing/.test(problem)) && !isProduction;
      const hint = isPart ? "\nWithout any RETAIL_POS_ setting, the sandbox on this machine is used." : "";
      throw new TypeError(`The settings are not complete:\n- ${problems.join("\n- ")}${hint}`);
    },
  };
}

function isOnThisMachine(address: string): boolean {
  const hostname = URL.canParse(address) ? new URL(address).hostname : "";
  return /^(localhost|.+\.localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname);
}
