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
  const { response, work, addHeaders } = exchange;
  if (typeof fault.kind === "number") {
    return send(response, addHeaders(textAnswer(fault.kind, "The sandbox was asked for this.")), fault);
  }
  switch (fault.kind) {
    case "silence":
      // Nothing is sent and nothing closed: the connection ends with the client's patience, or with the sandbox.
      fault.hit();
      return undefined;
    case "reset":
      return cut(response, fault);
    case "html":
      return send(response, wifiPortal, fault);
    case "redirect":
      return send(response, addHeaders(redirectTo(fault.options.to ?? exchange.trapUrl)), fault);
    case "half":
      return sendHalf(response, addHeaders(work()), fault);
    case "late":
      return sendLate(response, addHeaders(work()), fault);
    case "reset-after":
      work(); // before the cut, so that a refresh token is rotated and the client does not hear of it
      return cut(response, fault);
  }
}

function send(response: ServerResponse, answer: Answer, fault: ActiveFault): number {
  fault.hit();
  sendAnswer(response, answer);
  return answer.status;
}

function cut(response: ServerResponse, fault: ActiveFault): undefined {
  fault.hit();
  response.socket?.resetAndDestroy();
}

/** Ends the connection after the half was sent, and without a reset, which could overtake it. */
function sendHalf(response: ServerResponse, { status, headers, body }: Answer, fault: ActiveFault): number {
  fault.hit();
  response.writeHead(status, { ...headers, "Content-Length": String(Buffer.byteLength(body)) });
  response.write(body.slice(0, Math.ceil(body.length / 2)), () => response.destroy());
  return status;
}

async function sendLate(response: ServerResponse, answer: Answer, fault: ActiveFault): Promise<number> {
  fault.hit();
  await fault.released;
  sendAnswer(response, answer);
  return answer.status;
}

const redirectTo = (location: string): Answer => ({ status: 307, headers: { Location: location }, body: "" });

const wifiPortal: Answer = {
  status: 200,
  headers: { "Content-Type": "text/html; charset=utf-8" },
  body: "<!doctype html><title>Guest Wi-Fi</title><h1>Please accept our terms to go online</h1>\n",
};
