import { Agent, type ClientRequest, get, type IncomingMessage } from "node:http";
import { text } from "node:stream/consumers";

/** What became of one request. */
export interface Visit {
  readonly path: string;
  /** When it was sent, milliseconds of `performance.now()`. */
  readonly at: number;
  /** When it had ended. */
  readonly until: number;
  /** Whether its connection had been used before. */
  readonly wasReused: boolean;
  readonly status?: number;
  readonly body?: string;
  /** The header of that name. */
  readonly connection?: string | undefined;
  /** The code of what went wrong. */
  readonly error?: string;
}

/** Somebody who keeps one connection open from request to request, until the server takes no more. */
export interface Visitor {
  visit(path: string): Promise<Visit>;
  /** One request after the other, with a pause between two, until no connection can be had. */
  keepVisiting(path: string, pauseMs: () => number): Promise<Visit[]>;
  leave(): void;
}

export function visitor(port: number): Visitor {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });

  async function visit(path: string): Promise<Visit> {
    const at = performance.now();
    const request = get({ host: "127.0.0.1", port, path, agent });
    const outcome = () => ({ path, at, until: performance.now(), wasReused: request.reusedSocket });
    try {
      const answer = await answerTo(request);
      const body = await text(answer);
      const { statusCode: status = 0, headers } = answer;
      return { ...outcome(), status, body, connection: headers.connection };
    } catch (error) {
      return { ...outcome(), error: String((error as { code?: unknown }).code) };
    }
  }

  return {
    visit,
    async keepVisiting(path, pauseMs) {
      const visits: Visit[] = [];
      while (visits.at(-1)?.error === undefined) {
        visits.push(await visit(path));
        const ms = pauseMs();
        if (ms > 0) await new Promise((resolve) => setTimeout(resolve, ms));
      }
      return visits;
    },
    leave: () => agent.destroy(),
  };
}

function answerTo(request: ClientRequest): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    request.once("response", resolve);
    request.once("error", reject);
  });
}
