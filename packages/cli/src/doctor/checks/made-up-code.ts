import { type Answer, isSilence, type Reply } from "../browser/browser-get.js";
import { isSamePage } from "../browser/likeness.js";
import { errorSaid } from "../browser/page-text.js";
import { type ToldFailure, toldFailure } from "../browser/told-failure.js";
import type { Finding } from "../findings/finding.js";
import { found, type MessageKey } from "../findings/messages.js";

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
  if (isSilence(reply)) return [found("made-up-code-answer silent", { why: reply.unreachable })];
  const { status } = reply;
  const told = toldFailure(reply);
  const ofWords = told && OF_WORDS[told];
  if (ofWords) return [found(ofWords)];
  const ofStatus = isPageForErrors(reply, others) ? undefined : messageOf(reply);
  if (ofStatus) return [found(ofStatus)];
  // The statuses of the library's errors reach the browser: `server_error` has this one.
  if (status === 500 && others.failed.some((answer) => answer.status === 502))
    return [found("client-secret status", { status })];
  return [found("made-up-code-answer", { status, said: errorSaid(reply) })];
}

const OF_WORDS: Partial<Readonly<Record<ToldFailure, MessageKey>>> = {
  code_refused: "client-secret code_refused",
  client_refused: "client-secret client_refused",
  rate_limited: "client-secret rate_limited",
  retailer_not_accepted: "client-secret retailer_not_accepted",
  token_endpoint_failed: "base-url",
  store_failed: "token-store",
};

/** Whatever the error, this application's errors end here: its status says nothing. */
function isPageForErrors(reply: Answer, { failed, refused }: OtherAnswers): boolean {
  const isSame = (other: Answer) => isSamePage(other, reply);
  return reply.status < 500 && failed.some(isSame) && !refused.some(isSame);
}

/** By the library's statuses. `code_refused` and `retailer_not_accepted` have one status. */
function messageOf({ status, headers }: Answer): MessageKey | undefined {
  if (status === 429 || (status === 503 && headers.has("retry-after"))) return "client-secret rate_limited";
  if (status === 502 || status === 504) return "base-url";
  if (status === 503) return "token-store";
  return status < 500 ? "client-secret refused" : undefined;
}
