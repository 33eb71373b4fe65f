import { get } from "node:http";
import { json } from "node:stream/consumers";
import type { Request, RequestHandler } from "express";

// Beside the sandbox only: forty calls at once, who answered them, and what that cost. An application of your
// own needs none of this file.

const CALLS = 40;

/** One of the calls, and the process that answered it; without one where it failed. */
interface Call {
  worker?: number;
  pid?: number;
}

/** What so many calls at once have shown. */
export interface Burst {
  /** Epoch milliseconds. */
  at: number;
  /** In the order in which the answers came. */
  calls: Call[];
  /** How many token requests the sandbox saw meanwhile; absent where it did not say. */
  tokenRequests?: number;
}

declare module "express-session" {
  interface SessionData {
    burst: Burst;
  }
}

/** Calls this application's own API so many times at once, as whoever asks, and keeps in the session what it saw. */
export function demonstration(sandboxUrl: string): RequestHandler {
  return async (req, res, next) => {
    const before = await tokenRequestsAt(sandboxUrl).catch(() => undefined);
    const calls: Call[] = [];
    await Promise.all(Array.from({ length: CALLS }, async () => calls.push(await callOurselves(req))));
    const after = await tokenRequestsAt(sandboxUrl).catch(() => undefined);
    req.session.burst = {
      at: Date.now(),
      calls,
      ...(before !== undefined && after !== undefined && { tokenRequests: after - before }),
    };
    // Saved first: the browser follows the redirect to whichever process is next.
    req.session.save((error) => (error ? next(error) : res.redirect("/products#burst")));
  };
}

/** Who answered how many of the calls. */
export function processesOf({ calls }: Burst): (Required<Call> & { answered: number })[] {
  const processes = new Map<number, Required<Call> & { answered: number }>();
  for (const { worker, pid } of calls) {
    if (worker === undefined || pid === undefined) continue;
    const process = processes.get(pid) ?? { worker, pid, answered: 0 };
    processes.set(pid, { ...process, answered: process.answered + 1 });
  }
  return [...processes.values()].sort((one, other) => one.worker - other.worker);
}

/** Without an agent every call is a connection of its own, and connections are what the primary deals out. */
function callOurselves({ socket, headers: { cookie = "" } }: Request): Promise<Call> {
  const { localAddress: host, localPort: port } = socket;
  return new Promise((resolve) => {
    get({ host, port, path: "/api/products", agent: false, headers: { cookie } }, async (answer) => {
      const { answeredBy = {} } = (await json(answer).catch(() => ({}))) as { answeredBy?: Call };
      resolve(answeredBy);
    }).once("error", () => resolve({}));
  });
}

/** How many token requests the sandbox has seen. */
async function tokenRequestsAt(sandboxUrl: string): Promise<number> {
  const answer = await fetch(new URL("/console/requests", sandboxUrl), { signal: AbortSignal.timeout(5000) });
  if (!answer.ok) throw new Error(`the sandbox answered ${answer.status}`);
  const requests = (await answer.json()) as { endpoint: string }[];
  return requests.filter(({ endpoint }) => endpoint === "token").length;
}
