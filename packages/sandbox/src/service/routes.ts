import type { IncomingMessage, ServerResponse } from "node:http";
import { html } from "../http/html.js";
import {
  type Answer,
  type Incoming,
  isForLoopback,
  jsonAnswer,
  readIncoming,
  sendAnswer,
  storeLabelOf,
  textAnswer,
} from "../http/http.js";
import type { Retailer } from "../stores/retailer-accounts.js";
import { applyFault } from "../traffic/faults-on-the-wire.js";
import { type RateWindow, tooManyCalls, withRateLimit } from "../traffic/rate-limiter.js";
import type { Arrival, Outcome } from "../traffic/request-log.js";
import { connect } from "./connect-endpoint.js";
import { problemPage } from "./consent-page.js";
import { sampleApi } from "./sample-api.js";
import { type Service, storeChanged } from "./service-state.js";
import { grantTypeOf, tokenEndpoint } from "./token-endpoint.js";

/** Answers a page at the root of the sandbox, if it is one. None of these requests is logged. */
export type PagesForPeople = (request: Incoming, response: ServerResponse) => boolean;

/**
 * Finds the endpoint of a request. On the way every request passes the host check, the rate limit's count, the log and
 * a fault that waits for it: a request that a fault hits is counted and logged as well. Never rejects.
 */
export async function route(
  service: Service,
  pages: PagesForPeople,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  try {
    const incoming = await readIncoming(request);
    const exchange = { request: incoming, response };
    const { hostPerStore } = service.settings;
    const label = hostPerStore ? storeLabelOf(incoming) : undefined;
    if (label !== undefined) return await answerStore(service, exchange, label, incoming.segments);
    if (!isForLoopback(incoming)) return sendAnswer(response, notForUs);
    const [first = "", second = "", ...below] = incoming.segments;
    if (first === "connect")
      return await answer(service, { ...exchange, endpoint: first }, () => connect(service, incoming));
    if (first === "stores" && !hostPerStore) return await answerStore(service, exchange, second, below);
    if (first === "trap")
      return await answer(service, { ...exchange, endpoint: first }, () => textAnswer(200, "Trapped."));
    if (!pages(incoming, response)) sendAnswer(response, notFound);
  } catch (error) {
    // If the client has gone, nobody reads an answer. Everything else is a mistake of the sandbox and should be seen.
    if (response.headersSent || response.destroyed) response.destroy();
    else sendAnswer(response, jsonAnswer(500, { error: "sandbox_failed", error_description: String(error) }));
  }
}

const notFound = problemPage(
  404,
  "Nothing lives at this address",
  html`The stores, their tokens and every request are in <a href="/">the console</a>.`,
);

/** A request on its way to its answer. */
interface Exchange {
  readonly endpoint: Arrival["endpoint"];
  readonly request: Incoming;
  readonly response: ServerResponse;
  readonly retailer?: Retailer | undefined;
  /** If the answer carries the three headers. */
  readonly window?: RateWindow | undefined;
}

/** Everything under one retailer's `{base_url}`: `path` is what follows that. */
async function answerStore(
  service: Service,
  exchange: Pick<Exchange, "request" | "response">,
  domainPrefix: string,
  path: readonly string[],
): Promise<void> {
  const [api, version, last, ...rest] = path;
  const { request } = exchange;
  const retailer = service.retailers.find(domainPrefix);
  // Compared as sent: a client that puts "%2e%2e" or a double slash into a path should see that it does not arrive.
  const isToken = api === "api" && version === "1.0" && last === "token" && rest.length === 0;
  const limiter = isToken ? service.rateLimiter : service.apiRateLimiter;
  // Unknown stores share one window: their answers need the headers too, and made-up names must not fill the memory.
  const window = limiter?.count(retailer?.domainPrefix ?? "");
  const endpoint = isToken ? "token" : "api";
  return answer(service, { ...exchange, endpoint, retailer, window }, () => {
    if (!retailer || api !== "api") return jsonAnswer(404, { error: "no_such_store" });
    if (isToken) return tokenEndpoint(service, retailer, request, window);
    if (window?.exceeded) return tooManyCalls(window, service.now());
    return sampleApi(service, retailer, path.slice(1), request);
  });
}

/** Logs a request and answers it, unless a fault of its store was asked for. */
async function answer(service: Service, exchange: Exchange, work: () => Answer): Promise<void> {
  const { endpoint, retailer, request, response, window } = exchange;
  const outcome = service.log.arrived(arrivalOf(exchange));
  const addHeaders = (answer: Answer) => {
    if (endpoint === "token" && retailer && window && answer.status === 429)
      service.rateLimiter.told(retailer.domainPrefix, window.resetAt);
    return window ? withRateLimit(answer, window) : answer;
  };
  const fault = retailer && service.faults.take(endpoint, retailer.domainPrefix);
  if (!fault) {
    const answer = addHeaders(work());
    outcome(outcomeOf(answer));
    return sendAnswer(response, answer);
  }
  // Logged at once: the answer may come much later, or never.
  outcome({ fault: fault.kind });
  storeChanged(service, retailer.domainPrefix);
  const { trapUrl } = service.addresses;
  const status = await applyFault(fault, { response, work, addHeaders, trapUrl });
  if (status !== undefined) outcome({ status });
  if (fault.kind === "half" || fault.kind === "reset-after") service.history.answerLost(request.from);
}

function arrivalOf({ endpoint, request, retailer }: Exchange): Arrival {
  return {
    endpoint,
    method: request.method,
    path: request.path,
    authorization: request.headers.authorization !== undefined,
    bodyLength: request.body.length,
    ...(retailer && { domainPrefix: retailer.domainPrefix }),
    ...(endpoint === "token" && { grantType: grantTypeOf(request.body) }),
  };
}

/** The status, and the OAuth error code if the answer has one. */
function outcomeOf({ status, headers, body }: Answer): Outcome {
  if (status < 400 || !headers["Content-Type"]?.startsWith("application/json")) return { status };
  const { error } = JSON.parse(body) as { error?: string };
  return error !== undefined && /^\w+$/.test(error) ? { status, error } : { status };
}

const notForUs = textAnswer(421, "The sandbox answers only to 127.0.0.1 and localhost.");
