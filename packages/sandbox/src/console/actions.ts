import type { Controls } from "../controls.js";
import {
  type Answer,
  type Incoming,
  isCrossSite,
  jsonAnswer,
  mediaTypeOf,
  methodNotAllowed,
} from "../http/http.js";
import { isSameSecret } from "../secrets.js";
import type { Service } from "../service/service-state.js";
import type { FaultKind } from "../traffic/faults.js";
import { endpointNames, faultWords, timeOfDay } from "./formatting.js";

/** A press of a button. */
interface Press {
  readonly service: Service;
  readonly controls: Controls;
  readonly domainPrefix: string;
  readonly user: string;
}

/** Answers words for the person who pressed it; a new personal token too, the only time it leaves the sandbox. */
type Action = (press: Press) => string | { said: string; token: string };

/** The buttons of a store's card. */
const actions: Record<string, Action> = {
  expire: ({ controls, domainPrefix }) =>
    `${plural(controls.expire(domainPrefix), "access token")} expired. The next call gets a 401.`,
  refuse({ controls, domainPrefix }) {
    controls.refuse(domainPrefix);
    return "Refresh token refused from now on. Only a new login mends it.";
  },
  limit({ controls, domainPrefix }) {
    controls.limit(domainPrefix, 60_000);
    return "The token endpoint answers 429 for a minute.";
  },
  tokenAnswers500: failing("token", 500),
  apiAnswers401: failing("api", 401),
  apiAnswers429: failing("api", 429),
  apiAnswers500: failing("api", 500),
  apiIsSilent: failing("api", "silence"),
  heal({ service, controls, domainPrefix }) {
    controls.clearFaults(domainPrefix);
    const until = service.rateLimiter.rememberedUntil(domainPrefix);
    const memory = until === undefined ? "" : ` The application remembers the 429 until ${timeOfDay(until)}.`;
    return `Healed: token endpoint and API answer as they should.${memory}`;
  },
  createPersonalToken({ controls, domainPrefix, user }) {
    const token = controls.createPersonalToken(domainPrefix, user);
    return { said: `Personal token of ${user} created.`, token };
  },
  resetPassword({ controls, domainPrefix, user }) {
    const count = controls.resetPassword(domainPrefix, user);
    return `Password of ${user} reset. ${plural(count, "personal token")} deleted.`;
  },
};

function failing(endpoint: keyof typeof endpointNames, kind: FaultKind): Action {
  return ({ controls, domainPrefix }) => {
    controls.fault(kind, { domainPrefix, endpoint, times: Number.POSITIVE_INFINITY });
    return `${endpointNames[endpoint]}: ${faultWords(kind)}, until you press "Heal".`;
  };
}

/** A press of a button: the same as a call from code, with words for the person. */
export function act(service: Service, controls: Controls, pageToken: string, request: Incoming): Answer {
  if (request.method !== "POST") return methodNotAllowed("POST");
  // Only our own page can send this header: another site's script would need a permission that we never give.
  const token = request.headers["x-page-token"];
  if (isCrossSite(request) || typeof token !== "string" || !isSameSecret(token, pageToken)) {
    return jsonAnswer(403, { error: "This page is out of date. Reload it." });
  }
  if (mediaTypeOf(request) !== "application/json") return jsonAnswer(415, { error: "application/json only" });
  try {
    const { action = "", domainPrefix = "", user = "" } = JSON.parse(request.body) as Record<string, string>;
    // The name comes from outside: "constructor" would find something on every object.
    if (!Object.hasOwn(actions, action)) return jsonAnswer(400, { error: "There is no such action." });
    const press = { service, controls, domainPrefix: String(domainPrefix), user: String(user) };
    const done = actions[action]?.(press);
    return jsonAnswer(200, typeof done === "string" ? { said: done } : done);
  } catch (error) {
    // The controls' own TypeErrors name the mistake in words for people.
    return jsonAnswer(400, {
      error: error instanceof TypeError ? error.message : "The request cannot be read.",
    });
  }
}

const plural = (count: number, what: string) =>
  `${count === 0 ? "No" : count} ${what}${count === 1 ? "" : "s"}`;
