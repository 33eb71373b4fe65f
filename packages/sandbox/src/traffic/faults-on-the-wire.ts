import type { ServerResponse } from "node:http";
import { type Answer, sendAnswer, textAnswer } from "../http/http.js";
import type { ActiveFault } from "./faults.js";

/** An exchange a fault hits. */
export interface Exchange {
  readonly response: ServerResponse;
  /** Does the endpoint's work, and gives its answer. */
  work(): Answer;
  /** Adds the headers that every answer of the endpoint carries. */
  addHeaders(answer: Answer): Answer;
  /** Where redirects lead if the fault does not say. */
  readonly trapUrl: string;
}

/**
 * Acts a fault out on the wire; see {@link FaultKind} for what each does. Answers the status the client could see, if
 * any.
 */
export async function applyFault(fault: ActiveFault, exchange: Exchange): Promise<number | undefined> {
  const { kind } = fault;
  const { response } = exchange;
  const answer = answerOf(fault, exchange);
  fault.hit(); // the work is done by now, so a test may go on
  if (kind === "reset" || kind === "reset-after") response.socket?.resetAndDestroy();
  // After "silence" nothing is closed either: the connection ends with the client's patience, or with the sandbox.
  if (!answer || kind === "reset-after") return undefined;
  if (kind === "late") await fault.released;
  if (kind === "half") sendHalf(response, answer);
  else sendAnswer(response, answer);
  return answer.status;
}

function answerOf(
  { kind, options }: ActiveFault,
  { work, addHeaders, trapUrl }: Exchange,
): Answer | undefined {
  switch (kind) {
    case "silence":
    case "reset":
      return undefined;
    case "html":
      return wifiPortal;
    case "redirect":
      return addHeaders(redirectTo(options.to ?? trapUrl));
    case "half":
    case "late":
      return addHeaders(work());
    case "reset-after":
      return work(); // a refresh token is rotated, and the client does not hear of it
    default:
      return addHeaders(textAnswer(kind, "The sandbox was asked for this."));
  }
}

/** Ends the connection after the half was sent, and without a reset, which could overtake it. */
function sendHalf(response: ServerResponse, { status, headers, body }: Answer): void {
  response.writeHead(status, { ...headers, "Content-Length": String(Buffer.byteLength(body)) });
  response.write(body.slice(0, Math.ceil(body.length / 2)), () => response.destroy());
}

const redirectTo = (location: string): Answer => ({ status: 307, headers: { Location: location }, body: "" });

const wifiPortal: Answer = {
  status: 200,
  headers: { "Content-Type": "text/html; charset=utf-8" },
  body: "<!doctype html><title>Guest Wi-Fi</title><h1>Please accept our terms to go online</h1>\n",
};
