import { copyOfInit, copyOfInput, withoutLength } from "./call-copy.js";
import { type Call, callOf } from "./call-facts.js";
import { CallsUnderWay } from "./calls-under-way.js";
import { ConnectionInUse } from "./connection-in-use.js";
import type { Connections } from "./dispatcher.js";
import { closedError } from "./errors.js";
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
 * A call has its connection until the last byte of the answer has come, or the body was cancelled, or was
 * garbage-collected before anything of it was read. Further calls of that host wait, and start in their order; beyond
 * 10,000 they are refused (`RetailFetchError`, `queue_full`); an aborted one leaves at once. A token request (4.2, 4.3)
 * waits for nobody.
 * A `dispatcher` given in the second argument of a call is used in the place of ours.
 *
 * @throws {TypeError} naming the option that is wrong.
 */
export function retailFetch(options: RetailFetchOptions = {}): RetailFetch {
  const settings = readOptions(options);
  const builtIn = globalThis.fetch;
  const pools = new HostPools(settings);
  const hosts = new Hosts(settings);
  const underWay = new CallsUnderWay();
  let closed: Promise<void> | undefined;

  async function fetch(input: Input, init?: RequestInit): Promise<Response> {
    const dispatcher = dispatcherOf(init);
    // A `fetch` that calls this one stands in the place of the global one: through it the call would never end.
    if (dispatcher instanceof ConnectionInUse) return builtIn(input, init);
    const call = callOf(input, init);
    // The body of a call that is not sent is ended, as `fetch` ends it: a file may be open behind it.
    const unsent = (reason: unknown) => {
      discard(init?.body ?? (input as Partial<Request>).body, reason);
      return reason;
    };
    if (closed) throw unsent(closedError(call?.host ?? ""));
    if (call?.signal?.aborted) throw unsent(call.signal.reason);
    const send = sender(input, init, underWay);
    if (!call || call.isTokenRequest) return send(dispatcher ?? pools.of("token"), () => {});
    return counted(sendInTurn(call, dispatcher ?? pools.of("api"), send, unsent));
  }

  /** From its first moment: a call whose turn has come is sent a little later, and `close()` must not come between. */
  async function counted(answering: Promise<Response>): Promise<Response> {
    underWay.begin();
    try {
      return await answering;
    } finally {
      underWay.end();
    }
  }

  async function sendInTurn(
    call: Call,
    connections: Connections,
    send: Send,
    unsent: (reason: unknown) => unknown,
  ): Promise<Response> {
    const host = hosts.of(call);
    const place = host.place(call.isRepeatable);
    try {
      for (let isSentAgain = false; ; isSentAgain = true) {
        await host.start(place, call.signal, isSentAgain).catch((reason) => {
          throw unsent(reason);
        });
        const sentAt = Date.now();
        const answer = await send(
          connections,
          () => host.left(),
          (told) => isAnswerOf(call, told) && host.learn(told, sentAt),
        );
        const isLimited = isAnswerOf(call, answer) && answer.status === 429;
        if (!isLimited || closed || !host.canWait(place)) return answer;
        discard(answer.body);
      }
    } finally {
      host.ended();
    }
  }

  async function finish(): Promise<void> {
    hosts.dismiss();
    await underWay.none();
    await pools.close();
  }

  return Object.assign(fetch, {
    close() {
      closed ??= finish();
      return closed;
    },
  });
}

/** Sends a call as it was when it was made, once or again. */
function sender(input: Input, init: RequestInit | undefined, underWay: CallsUnderWay): Send {
  const [copy, options] = [copyOfInput(input), withoutLength(input, copyOfInit(init))];
  return async (connections, over, learn) => {
    underWay.begin();
    const isOver = () => {
      over();
      underWay.end();
    };
    const dispatcher = new ConnectionInUse(connections, isOver, input);
    try {
      const answer = await globalThis.fetch(copy, { ...options, dispatcher } as object);
      learn?.(answer);
      return answer;
    } catch (error) {
      dispatcher.discard();
      throw error;
    } finally {
      dispatcher.release();
    }
  };
}

/** Ends a body that nobody will read. It may be one of Node's streams. */
function discard(body: unknown, reason?: unknown): void {
  const stream = body as { cancel?(reason: unknown): unknown; destroy?(): void } | null | undefined;
  try {
    if (stream?.cancel) Promise.resolve(stream.cancel(reason)).catch(() => {});
    else stream?.destroy?.();
  } catch {
    // The caller is told why the call failed, not why its body did.
  }
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
