import { createServer } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { Readable } from "node:stream";
import { isSpanContextValid, propagation, type TextMapPropagator, trace } from "@opentelemetry/api";
import { UndiciInstrumentation } from "@opentelemetry/instrumentation-undici";
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
} from "@opentelemetry/sdk-trace-base";
import nock from "nock";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { type ApiServer, apiServer } from "../testing/api-server.js";
import { type RetailFetch, retailFetch } from "./index.js";

// Whoever intercepts or traces `fetch` sees every request, also if it came after retailFetch was made.

nock.restore(); // importing nock switches it on

const STORE = "https://shop.retail.example";
const token = { method: "POST", body: "grant_type=refresh_token" };

let fetch: RetailFetch;

beforeEach(() => {
  fetch = retailFetch({ perHost: 1 });
});
afterEach(async () => {
  vi.unstubAllGlobals();
  await fetch.close();
});

describe("nock", () => {
  beforeEach(() => nock.activate());
  afterEach(() => {
    nock.cleanAll();
    nock.restore();
  });

  test("answers calls and token requests; nothing reaches the network", async () => {
    const scope = nock(STORE)
      .get("/api/products?page=2")
      .matchHeader("authorization", "Bearer given")
      .times(20)
      .reply(200, { data: [] })
      .post("/api/1.0/token", "grant_type=refresh_token")
      .reply(200, { access_token: "a" });
    const headers = { authorization: "Bearer given" };
    const calls = Array.from({ length: 20 }, () => fetch(`${STORE}/api/products?page=2`, { headers }));
    expect(await (await fetch(`${STORE}/api/1.0/token`, token)).json()).toEqual({ access_token: "a" });
    expect((await Promise.all(calls)).map(({ status }) => status)).toEqual(Array(20).fill(200));
    expect(scope.isDone()).toBe(true);
  });

  test("answers 429, which is waited out", async () => {
    nock(STORE).get("/").reply(429, "", { "Retry-After": "1" }).get("/").reply(200, "served");
    fetch = retailFetch({ wait429Ms: 5000 });
    expect(await (await fetch(STORE)).text()).toBe("served");
  });
});

describe("a fetch in the place of the global one", () => {
  test("gets every call as it was made, whenever it came", async () => {
    const seen = vi.fn(async (input: unknown, _init?: unknown) => new Response(`answer to ${input}`));
    vi.stubGlobal("fetch", seen);
    const call = { method: "PUT", body: "a", cache: "no-store", next: { internal: true } } as const;
    expect(await (await fetch(STORE, call)).text()).toBe(`answer to ${STORE}`);
    expect(seen.mock.calls).toEqual([[STORE, expect.objectContaining(call)]]);
    vi.unstubAllGlobals();
    expect(await (await fetch("data:,real")).text()).toBe("real");
  });

  test("may give what is hardly an answer: it is returned, and the next call is sent", async () => {
    for (const answer of [undefined, null, 5, {}, { status: 429 }, { status: 429, headers: {} }]) {
      vi.stubGlobal("fetch", async () => answer);
      for (const round of [1, 2]) expect(await fetch(`${STORE}/${round}`)).toBe(answer);
    }
  });

  test("may give bodies that are Node's streams: a 429 is waited out all the same", async () => {
    const limited = Readable.from(["slow down"]);
    const answers = [
      { status: 429, headers: new Headers({ "Retry-After": "1" }), body: limited },
      { status: 200, headers: new Headers(), body: Readable.from(["served"]) },
    ];
    vi.stubGlobal("fetch", async () => answers.shift());
    fetch = retailFetch({ wait429Ms: 5000 });
    expect((await fetch(STORE)).status).toBe(200);
    expect(limited.destroyed).toBe(true);
  });

  test("may throw at once", async () => {
    vi.stubGlobal("fetch", () => {
      throw new Error("out of order");
    });
    for (const round of [1, 2]) await expect(fetch(`${STORE}/${round}`)).rejects.toThrow("out of order");
  });

  test("may be this very function, or one around it", async () => {
    for (const inPlace of [fetch, (...call: Parameters<RetailFetch>) => fetch(...call), retailFetch()]) {
      vi.stubGlobal("fetch", inPlace);
      expect(await (await fetch("data:,at%20hand")).text()).toBe("at hand");
      const api = await apiServer((_, response) => response.end("served"));
      expect(await (await fetch(api.origin)).text()).toBe("served");
      await api.close();
    }
  });
});

describe("OpenTelemetry's instrumentation", () => {
  let api: ApiServer;
  beforeEach(async () => {
    api = await apiServer((request, response) => response.end(request.headers.traceparent));
  });
  afterEach(() => api.close());

  test("has a span for each request, and marks it with the trace", async () => {
    const exporter = new InMemorySpanExporter();
    const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
    propagation.setGlobalPropagator(traceparent);
    const instrumentation = new UndiciInstrumentation();
    instrumentation.setTracerProvider(provider);
    instrumentation.enable();
    const marks: string[] = [];
    for (const path of ["/api/products", "/api/sales"])
      marks.push(await (await fetch(api.origin + path)).text());
    marks.push(await (await fetch(`${api.origin}/api/1.0/token`, token)).text());
    instrumentation.disable();
    propagation.disable();
    const spans = exporter.getFinishedSpans();
    const paths = spans.map(({ attributes }) => attributes["url.path"]);
    expect(paths).toEqual(["/api/products", "/api/sales", "/api/1.0/token"]);
    expect(marks).toEqual(spans.map((span) => markOf(span.spanContext())));
  });
});

const markOf = ({ traceId, spanId }: { traceId: string; spanId: string }) => `00-${traceId}-${spanId}-01`;

/** As the W3C's: what the host is told of the trace. */
const traceparent: TextMapPropagator = {
  inject(context, carrier, { set }) {
    const span = trace.getSpanContext(context);
    if (span && isSpanContextValid(span)) set(carrier, "traceparent", markOf(span));
  },
  extract: (context) => context,
  fields: () => ["traceparent"],
};

describe("a dispatcher that the call brings along", () => {
  test("is used, and holds one of the host's places until its answer is over", async () => {
    const { MockAgent } = await import("undici");
    const mocks = new MockAgent();
    mocks.disableNetConnect();
    mocks.get(STORE).intercept({ path: "/" }).reply(200, "mocked").times(2);
    for (const round of [1, 2]) {
      const answered = fetch(STORE, { dispatcher: mocks } as unknown as RequestInit);
      expect(await (await answered).text(), `round ${round}`).toBe("mocked");
    }
  });

  test("may be a proxy's", async () => {
    const api = await apiServer((_, response) => response.end("served"));
    const asked: string[] = [];
    const proxy = createServer().on("connect", (request, socket) => {
      asked.push(request.url ?? "");
      const to = connect(Number(new URL(api.origin).port), "127.0.0.1", () => {
        socket.write("HTTP/1.1 200 Connection established\r\n\r\n");
        socket.pipe(to).pipe(socket);
      });
    });
    await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
    const { ProxyAgent } = await import("undici");
    const dispatcher = new ProxyAgent(`http://127.0.0.1:${(proxy.address() as AddressInfo).port}`);
    const own: typeof globalThis.fetch = (input, init) =>
      fetch(input, { ...init, dispatcher } as unknown as RequestInit);
    for (let call = 0; call < 100; call += 1)
      expect(await (await own("http://shop.retail.example/api")).text(), `call ${call}`).toBe("served");
    expect(new Set(asked)).toEqual(new Set(["shop.retail.example:80"]));
    expect(asked.length).toBeLessThanOrEqual(8); // tunnels, for a hundred calls: as many as run at once, at most
    await dispatcher.close();
    proxy.close();
    await api.close();
  });
});
