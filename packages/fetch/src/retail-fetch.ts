import { copyOfInit, discard } from "@retail-pos/core/authoring";
import { connections, Requests } from "./connections.js";
import { RetailFetchError } from "./errors.js";
import { Host } from "./host.js";
import { type RetailFetchOptions, readOptions } from "./options.js";

/** `fetch`, and the end of it. */
export type RetailFetch = typeof globalThis.fetch & {
  /**
   * Lets what is under way finish, bodies included; rejects the calls that wait, and refuses those that come later
   * (`RetailFetchError`, `closed`). Resolves once every connection is closed. May be called again.
   */
  close(): Promise<void>;
};

/** undici's own member of `RequestInit`, which the platform's types do not know. */
type Init = Omit<RequestInit, "dispatcher"> & { dispatcher?: unknown };

/**
 * A `fetch` for many hosts: a bounded number of calls to each at a time, over connections that are kept, and nothing
 * kept of a host that is not called any more. It goes through `globalThis.fetch`, looked up at each call.
 *
 * Calls of one host start in their order; beyond 10,000 that wait they are refused (`RetailFetchError`,
 * `queue_full`); an aborted one leaves at once. A token request (4.2, 4.3) never waits. The arguments are read at the
 * call, as the platform does.
 * An answer is read into memory as it comes. If it comes more than 16 MiB ahead of its reader, reading it fails: a
 * `TypeError` of `fetch` whose `cause` is a `RetailFetchError`, `answer_too_large`.
 * A `dispatcher` given in the second argument of a call is used in the place of ours, and reads as it likes.
 *
 * @throws {TypeError} naming the option that is wrong.
 */
export function retailFetch(options: RetailFetchOptions = {}): RetailFetch {
  const { perHost, keepAliveMs, wait429Ms } = readOptions(options);
  const builtIn = globalThis.fetch;
  const agent = connections(keepAliveMs);
  const hosts = new Map<string, Host>();
  const underWay = new Set<Promise<Response>>();
  /** Those whose answer has not come to its end. */
  const sent = new Set<Requests>();
  let closed: Promise<void> | undefined;

  function hostOf({ origin, host: name }: URL): Host {
    const onIdle = () => void hosts.delete(origin);
    const host = hosts.get(origin) ?? new Host({ name, perHost, wait429Ms, onIdle });
    hosts.set(origin, host);
    return host;
  }

  async function fetch(input: string | URL | Request, init?: Init): Promise<Response> {
    // A `fetch` that calls this one stands in the place of the global one: through it the call would never end.
    if (init?.dispatcher instanceof Requests) return builtIn(input, init as RequestInit);
    const calling = call(input, init);
    underWay.add(calling);
    return calling.finally(() => underWay.delete(calling));
  }

  async function call(input: string | URL | Request, init: Init = {}): Promise<Response> {
    const request = typeof input === "object" && "url" in input ? input : undefined;
    const address = request ? request.url : String(input);
    const url = URL.canParse(address) ? new URL(address) : undefined;
    const method = String(init.method ?? request?.method ?? "GET").toUpperCase();
    const signal = (init.signal === undefined ? request?.signal : init.signal) ?? undefined;
    const copy = copyOfInit(init as RequestInit);
    if (request) copy.headers ??= new Headers(request.headers);
    const body = copy.body ?? request?.body;
    const isToken = method === "POST" && url?.pathname.endsWith("/api/1.0/token");
    const isExchange = isToken === true && String(body).includes("grant_type=authorization_code");
    let isSent = false;

    async function send() {
      isSent = true;
      // A `Request` follows its caller's signal only while something holds it: until the answer was read.
      const ours = Object.assign(new Requests(agent, isExchange), { input });
      const given = { ...copy, dispatcher: init.dispatcher ?? ours };
      sent.add(ours);
      try {
        const answer = await globalThis.fetch(request ?? address, given as RequestInit);
        const from = URL.canParse(answer?.url) ? new URL(answer.url).origin : url?.origin; // a redirect led elsewhere?
        const isOfHost = from === url?.origin && typeof answer?.headers?.get === "function";
        return { answer, isOfHost, over: ours.over };
      } catch (error) {
        ours.drop();
        throw error;
      } finally {
        void ours.over.then(() => sent.delete(ours));
      }
    }

    try {
      if (closed) throw new RetailFetchError("closed", url?.host ?? "");
      signal?.throwIfAborted();
      if (!url || !/^https?:$/.test(url.protocol) || isToken) return (await send()).answer;
      const isRepeatable = ["GET", "HEAD", "OPTIONS"].includes(method) && !body;
      return await hostOf(url).call({ signal, isRepeatable, send });
    } catch (error) {
      if (!isSent) discard(body, error); // as `fetch` ends it: a file may be open behind it
      throw error;
    }
  }

  async function finish(): Promise<void> {
    for (const host of hosts.values()) host.dismiss();
    await Promise.allSettled(underWay);
    await Promise.all([...sent].map(({ over }) => over));
    await agent.destroy(); // nothing is under way; undici's own close may wait for a call that was aborted
  }

  return Object.assign(fetch, { close: () => (closed ??= finish()) });
}
