import {
  isRetailPosError,
  type RetailPos,
  type RetailPosOptions,
  retailPos,
  type TokenEndpointError,
} from "@retail-pos/core";
import { type Finding, ok, problem, skipped, warning } from "../findings/finding.js";

/** The application's credentials and a retailer whose token endpoint shall look at them. */
export interface Credentials
  extends Pick<RetailPosOptions, "baseUrl" | "clientId" | "clientSecret" | "redirectUri"> {
  readonly domainPrefix: string;
}

const CHECK = "client-secret";

/** In core's words; undefined if nothing is wrong with it. */
export function checkBaseUrl(baseUrl: string): string | undefined {
  try {
    retailPos({ baseUrl, clientId: "any", clientSecret: "any" });
    return undefined;
  } catch (error) {
    if (error instanceof TypeError) return error.message;
    throw error;
  }
}

/**
 * One exchange of a code that was never issued (4.2). RFC 6749, 5.2: the service looks at the client
 * before the code, so `invalid_grant` means that it took the client for the right one. The request is told as a
 * finding too: whoever watches the service's log will see it there.
 *
 * @throws {TypeError} `baseUrl` is no template.
 * @throws {InvalidDomainPrefixError}
 */
export async function clientSecret(
  { domainPrefix, ...options }: Credentials,
  timeoutMs: number,
): Promise<Finding[]> {
  const authUrl = "http://localhost"; // has to be given, and is not asked here
  const sent: Finding[] = [];
  const observe = ({ type }: { type: string }) => {
    if (type === "token_request") sent.push(ok("made-up-code", `${SENT} ${domainPrefix}.`));
  };
  let client: RetailPos;
  try {
    client = retailPos({ ...options, authUrl, timeoutMs, userAgent: "retail-pos doctor", observe });
  } catch (error) {
    if (!(error instanceof TypeError) || checkBaseUrl(options.baseUrl)) throw error;
    return [noRequest(error)];
  }
  try {
    await client.exchange(domainPrefix, "made-up-by-the-doctor");
  } catch (error) {
    if (!isRetailPosError(error) || error.code === "invalid_domain_prefix") throw error;
    return [...sent, meaningOf(error)];
  }
  return [...sent, tokensForNothing()];
}

const SENT = "One token request, with a code that was never issued, was sent to the token endpoint of";

/** Core's words name the setting, and repeat no value. */
function noRequest({ message }: TypeError): Finding {
  return problem(CHECK, `The client secret was not tried: ${message}.`, {
    effect: "The application cannot trade a code with such a setting either.",
    mend: "Mind a space or a line break at the end of the secret, and look at the redirect_uri that the application sends.",
  });
}

function tokensForNothing(): Finding {
  return warning(CHECK, "The token endpoint gave tokens for a code that was never issued.", {
    effect: "The retailer cannot log in, if the application has the same setting.",
    mend: "Check baseUrl: this is not the service's token endpoint.",
  });
}

export function noClientSecret(steps: readonly string[]): Finding {
  return skipped(CHECK, "The client secret was not tried.", `To have it tried, ${steps.join("; ")}.`);
}

function meaningOf(error: Error & { code: string }): Finding {
  const effect = "The retailer approves, comes back, and sees the application's error page.";
  if (error.code === "client_refused") {
    return problem(CHECK, "The service refuses the client_id with this client secret.", {
      effect,
      mend: "Copy both again from the application's registration; mind a space or a line break at the end of the secret.",
    });
  }
  if (error.code === "rate_limited") {
    return warning(CHECK, "The token endpoint is rate limited; it did not look at the client secret.", {
      effect: "A retailer who logs in now sees the application's error page, until the limit is over.",
      mend: "Try again in some minutes.",
    });
  }
  const { error: reason, endpointStatus } = error as TokenEndpointError;
  if (reason === "invalid_grant") {
    return ok(
      CHECK,
      "The service takes the client secret from the environment; whether the application uses the same one cannot be seen from outside.",
    );
  }
  if (endpointStatus === undefined) {
    return problem(CHECK, `The token endpoint cannot be asked: ${error.message}.`, {
      effect,
      mend: "Check --base-url and --store: together they are the address of one retailer.",
    });
  }
  if (endpointStatus === 404) {
    return problem(CHECK, "There is no token endpoint for this retailer: the service answers 404.", {
      effect,
      mend: "Check --base-url and --store: together they are the address of one retailer.",
    });
  }
  return warning(
    CHECK,
    `The token endpoint answers ${endpointStatus}, which says nothing about the client secret.`,
    {
      effect: "The retailer may see the application's error page after approving.",
      mend: "Log in once in a browser, and read the application's log.",
    },
  );
}
