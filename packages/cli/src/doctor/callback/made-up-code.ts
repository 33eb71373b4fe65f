import { type Answer, isSilence, type Reply } from "../browser/browser-get.js";
import { isSamePage } from "../browser/likeness.js";
import { errorSaid } from "../browser/page-error.js";
import { type ToldFailure, toldFailure } from "../browser/told-failure.js";
import { type Finding, ok, problem, warning } from "../findings/finding.js";
import { inFrontOf } from "../findings/refusing-answer.js";

const effect = "The retailer approves, comes back, and sees the application's error page.";

/** How the application's own token request ended, with a code that was never issued. */
type Ending = Extract<
  ToldFailure,
  | "code_refused"
  | "client_refused"
  | "rate_limited"
  | "retailer_not_accepted"
  | "token_endpoint_failed"
  | "store_failed"
>;

/** What the application answers to others, to compare with. */
export interface OtherAnswers {
  /** To logins of its own that came back with an error of the service. */
  readonly failed: readonly Answer[];
  /** To forged callbacks. */
  readonly refused: readonly Answer[];
}

/**
 * What the application's answer says of its settings. RFC 6749, 5.2: the service looks at the client before the code,
 * so a code that is refused means that the client id and the client secret of the application are right.
 */
export function madeUpCode(reply: Reply, others: OtherAnswers): Finding[] {
  if (isSilence(reply)) {
    const message = `The application does not answer a login that comes back: ${reply.unreachable}.`;
    const mend =
      "Look for what never answers: the token store or its lock (a client that queues commands while its database is away), or a failure handler that sends nothing.";
    return [problem("made-up-code-answer", message, { effect, mend })];
  }
  const told = toldFailure(reply);
  if (told !== undefined && Object.hasOwn(FINDINGS, told)) return [FINDINGS[told as Ending]()];
  const limited = inFrontOf("client-secret", reply);
  if (limited) return [limited];
  const ending = isPageForErrors(reply, others) ? undefined : endingOf(reply);
  if (ending === undefined) return [failedSomehow(reply, others)];
  return [ending === "code_refused" ? refusedSilently() : FINDINGS[ending]()];
}

/** Whatever the error, this application's errors end here: its status says nothing. */
function isPageForErrors(reply: Answer, { failed, refused }: OtherAnswers): boolean {
  const isSame = (other: Answer) => isSamePage(other, reply);
  return reply.status < 500 && failed.some(isSame) && !refused.some(isSame);
}

/** By the library's statuses. */
function endingOf({ status, headers }: Answer): Ending | undefined {
  if (status === 503 && headers.has("retry-after")) return "rate_limited";
  if (status === 502 || status === 504) return "token_endpoint_failed";
  if (status === 503) return "store_failed";
  return status < 500 ? "code_refused" : undefined;
}

const FINDINGS: Record<Ending, () => Finding> = {
  code_refused: () =>
    ok(
      "client-secret",
      "The service takes the client secret of the application, and refuses a code that it never issued.",
    ),
  rate_limited: () =>
    warning("client-secret", "The token endpoint is rate limited; it did not look at the client secret.", {
      effect: "A retailer who logs in now sees the application's error page, until the limit is over.",
      mend: "Try again in some minutes.",
    }),
  retailer_not_accepted: () =>
    warning(
      "client-secret",
      "The application does not accept this retailer; its client secret was not tried.",
      {
        effect: "This retailer approves, comes back, and is refused; others may log in.",
        mend: "Name a store with --store that acceptRetailer accepts.",
      },
    ),
  client_refused: () =>
    problem("client-secret", "The service refuses the client_id and client secret of the application.", {
      effect,
      mend: "Copy both again from the application's registration; mind a space or a line break at the end of the secret.",
    }),
  token_endpoint_failed: () =>
    problem("base-url", "The application gets no answer of a token endpoint.", {
      effect,
      mend: "Check baseUrl in the application: with --store's domain prefix in it, it has to be the address of that retailer, which exists. Then whether the application's machine may connect to it, and trusts its certificate.",
    }),
  store_failed: () =>
    problem("token-store", "The application's token store, or its lock, fails.", {
      effect,
      mend: "Check that the database of the token store is there, and that migrate() ran; the application's log and observe (store_failed) say more.",
    }),
};

/** `code_refused` and `retailer_not_accepted` have one status. */
function refusedSilently(): Finding {
  return ok(
    "client-secret",
    "The service takes the client secret of the application, unless the application refuses this retailer itself (acceptRetailer).",
  );
}

function failedSomehow(answer: Answer, { failed }: OtherAnswers): Finding {
  const { status } = answer;
  const message = `A login that comes back with a made-up code ends in ${status}`;
  // The statuses of the library's errors reach the browser: `server_error` has this one.
  if (status === 500 && failed.some((answer) => answer.status === 502)) {
    return problem(
      "client-secret",
      `${message}, which is the status for a client secret that the service refuses.`,
      {
        effect,
        mend: "Copy client_id and client secret again from the application's registration; if they are right, read the application's log.",
      },
    );
  }
  return problem(
    "made-up-code-answer",
    `${message}, as errors of the application do, instead of a refusal.${errorSaid(answer)}`,
    {
      effect,
      mend: "Read the application's log. By error.code: client_refused means client_id or client secret, token_endpoint_failed means baseUrl, store_failed the token store, rate_limited that it has to wait.",
    },
  );
}

/** Whoever watches the log of the application or of the service will see it there. */
export function madeUpCodeSent(domainPrefix: string): Finding {
  return ok(
    "made-up-code",
    `One login came back with a code that was never issued: one token request of the application's, at the token endpoint of ${domainPrefix}.`,
  );
}
