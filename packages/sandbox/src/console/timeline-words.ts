import type { Step } from "./timeline-steps.js";

/** A step as a person reads it. */
export interface Telling {
  /** One word. */
  readonly lead: string;
  readonly rest: string;
  readonly by: string;
}

export function tell(step: Step): Telling {
  const lead = step.type.charAt(0).toUpperCase() + step.type.slice(1);
  const lost = step.answerLost ? ` The answer was cut off: nobody received ${list(step.issued)}.` : "";
  return { lead, rest: what(step) + lost, by: whose(step) };
}

function what(step: Step): string {
  const { issued, ended, sent, ownTime } = step;
  switch (step.type) {
    case "login":
      return `${list(issued)} issued.`;
    case "renewed":
      return renewal(step);
    case "refused":
      return refusal(step);
    case "rejected":
      return `${sent?.name} was sent to the API after its end.`;
    case "expired":
      return ownTime ? `The time of ${list(ended)} is over.` : `${list(ended)}, ahead of time.`;
    case "stopped":
      return `No longer accepted: ${list(ended)}.`;
    case "revoked":
      return `${list(ended)}, because the code of that login was sent a second time (RFC 6749, 4.1.2).`;
  }
}

function renewal({ sent, issued, ended }: Step): string {
  const spent = sent?.name ?? "an older token";
  const [first, second] = issued;
  if (second === undefined) return `With ${spent}, which stays good: ${first} issued.`;
  const others = ended.filter((name) => name !== spent);
  return `${first} replaced ${spent}, ${second} issued.${others.length > 0 ? ` ${list(others)} ended with ${spent}.` : ""}`;
}

function refusal({ sent }: Step): string {
  if (!sent) return "A refresh token was sent that is none of this store's latest.";
  if (sent.kind === "access") return `${sent.name} was sent, which is an access token.`;
  const { name, replacedBy, end } = sent;
  if (replacedBy !== undefined) {
    return `${name} was sent, but it is spent: ${replacedBy} had replaced it. Its sender did not have ${replacedBy}.`;
  }
  if (end === "stopped") return `${name} was sent, which the sandbox was asked to refuse.`;
  return `${name} was sent, which has been revoked.`;
}

function whose({ by, ownTime }: Step): string {
  if (by) return `${by.name || "a client without a name"}, port ${by.port}`;
  return ownTime ? "" : "Asked for in the console or by a test";
}

/** Names as a person lists them: "A1", "A1 and A2", "A1, A2 and A3". */
function list(names: readonly string[]): string {
  const last = names.at(-1) ?? "";
  return names.length > 1 ? `${names.slice(0, -1).join(", ")} and ${last}` : last;
}
