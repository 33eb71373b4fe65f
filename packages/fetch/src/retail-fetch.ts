import { type Call, callOf, withDispatcher } from "./call-facts.js";
import { type Connections, UnderWay } from "./connection-in-use.js";
import { closedError } from "./errors.js";
import type { Host } from "./host.js";
import { HostPools } from "./host-pools.js";
import { Hosts } from "./hosts.js";
import { type RetailFetchOptions, readOptions } from "./options.js";

/** `fetch`, and the end of it. */
export type RetailFetch = typeof globalThis.fetch & {
  /**
   * Lets what is under way finish, bodies included; rejects the calls that wait, and refuses those that come later
   * (`RetailFetchError`, `closed`). Resolves once every connection is closed. May be called again.
   */
  close(): Promise<void>;
};

type Input = string | URL | Request;

/** Sends a call once. `learn` is told of the answer before `over`, which is told when the connection is free. */
type Send = (
  connections: Connections,
  over: () => void,
  learn?: (answer: Response) => void,
) => Promise<Response>;

/**
 * A `fetch` for many hosts: a bounded number of connections to each, kept alive, and nothing kept of a host that is
 * not called any more. It goes through `globalThis.fetch`, looked up at each call.
 *
 * A call has its connection until the last byte of the answer has come, or the body was cancelled or
 * garbage-collected. Further calls of that host wait, and start in their order; beyond 10,000 they are refused
 * (`RetailFetchError`, `queue_full`); an aborted one leaves at once. A token request (4.2, 4.3) waits for nobody.
 * A `dispatcher` given with a call is used in the place of ours.
 *
 * @throws {TypeError} naming the option that is wrong.
 */
export function retailFetch(options: RetailFetchOptions = {}): RetailFetch {
  const settings = readOptions(options);
  const builtIn = globalThis.fetch;
  const pools = new HostPools(settings);
  const hosts = new Hosts(settings);
  let underWay = 0;
  let whenNothingIs: (() => void) | undefined;
  let closed: Promise<void> | undefined;

  async function fetch(input: Input, init?: RequestInit): Promise<Response> {
    const dispatcher = dispatcherOf(init);
    // A `fetch` that calls this one stands in the place of the global one: through it the call would never end.
    if (dispatcher instanceof UnderWay) return builtIn(input, init);
    const call = callOf(input, init);
    if (closed) throw closedError(call?.host ?? "");
    const send = sender(input, init);
    if (!call || call.isTokenRequest) return send(dispatcher ?? pools.of("token"), () => {});
    return counted(sendInTurn(call, hosts.of(call), dispatcher ?? pools.of("api"), send));
  }

  /** From its first moment: a call whose turn has come is sent a little later, and `close()` must not come between. */
  async function counted(answering: Promise<Response>): Promise<Response> {
    underWay += 1;
    try {
      return await answering;
    } finally {
      ended();
    }
  }

  async function sendInTurn(call: Call, host: Host, connections: Connections, send: Send): Promise<Response> {
    const place = host.place(call.isRepeatable);
    for (let isSentAgain = false; ; isSentAgain = true) {
      await host.start(place, call.signal, isSentAgain);
      const answer = await send(
        connections,
        () => host.left(),
        (told) => isAnswerOf(call, told) && host.learn(told),
      );
      const isLimited = isAnswerOf(call, answer) && answer.status === 429;
      if (!isLimited || closed || !host.canWait(place)) return answer;
      answer.body?.cancel().catch(() => {}); // nobody will read it
    }
  }

  function sender(input: Input, init: RequestInit | undefined): Send {
    return async (connections, over, learn) => {
      underWay += 1;
      const dispatcher = new UnderWay(connections, () => {
        over();
        ended();
      });
      try {
        const answer = await globalThis.fetch(input, withDispatcher(init, dispatcher));
        learn?.(answer);
        return answer;
      } finally {
        dispatcher.answered();
      }
    };
  }

  function ended(): void {
    underWay -= 1;
    if (underWay === 0) whenNothingIs?.();
  }

  async function finish(): Promise<void> {
    hosts.dismiss();
    if (underWay > 0) await new Promise<void>((resolve) => (whenNothingIs = resolve));
    await pools.close();
  }

  return Object.assign(fetch, {
    close() {
      closed ??= finish();
      return closed;
    },
  });
}

/** undici's own member of `RequestInit`, which the platform's types do not know. */
function dispatcherOf(init: RequestInit | undefined): Connections | undefined {
  return (init as { dispatcher?: Connections } | undefined)?.dispatcher ?? undefined;
}

/**
 * A redirect may have led to another host, whose limit is another. A `fetch` in the built-in's place may not tell the
 * address, and may give anything at all.
 */
function isAnswerOf({ origin }: Call, answer: Response | undefined): boolean {
  if (typeof answer?.headers?.get !== "function") return false;
  return !answer.url || !URL.canParse(answer.url) || new URL(answer.url).origin === origin;
}
