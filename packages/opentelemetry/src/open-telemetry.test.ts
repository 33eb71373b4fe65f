import { context, metrics, ROOT_CONTEXT, SpanKind, SpanStatusCode, trace } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { memoryStore, type RetailPosEvent, type RetailPosOptions } from "@retail-pos/core";
import { afterEach, beforeAll, describe, expect, test } from "vitest";
import {
  DAY_MS,
  failureOf,
  fakeService,
  json,
  oauthError,
  settled,
  start,
} from "../../core/testing/fake-service.js";
import { signals } from "../testing/signals.js";
import { COUNTERS, GAUGES, HISTOGRAMS } from "./metric-definitions.js";
import { openTelemetry } from "./open-telemetry.js";

function observed(options: Partial<RetailPosOptions> = {}) {
  const { meterProvider, tracerProvider, ...seen } = signals();
  const observe = openTelemetry({ meterProvider, tracerProvider });
  return { ...start({ ...options, observe }), ...seen, tracer: tracerProvider.getTracer("the application") };
}

describe("metrics", () => {
  test("of a login, two renewals and a disconnect", async () => {
    const { login, pos, shop, time, points, metrics: exported } = observed();
    await login();
    for (const _ of [1, 2]) {
      time.now += DAY_MS;
      await shop.token();
    }
    await pos.disconnect("shop");
    expect(await points("retail_pos.logins")).toEqual(["1 {}"]);
    expect(await points("retail_pos.renewals")).toEqual(["2 {}"]);
    expect(await points("retail_pos.renewal.duration")).toEqual(['2 {"retail_pos.rotated":true}']);
    expect(await points("retail_pos.disconnects")).toEqual(["1 {}"]);
    expect(await points("retail_pos.token_requests")).toEqual([
      '2 {"retail_pos.grant":"refresh_token"}',
      '1 {"retail_pos.grant":"authorization_code"}',
    ]);
    expect(await points("retail_pos.token_request.duration")).toEqual([
      '1 {"retail_pos.grant":"authorization_code","http.response.status_code":200}',
      '2 {"retail_pos.grant":"refresh_token","http.response.status_code":200}',
    ]);
    const names = (await exported()).map(({ descriptor }) => descriptor.name);
    expect(names.sort()).toEqual(
      [...Object.values(COUNTERS), ...Object.values(HISTOGRAMS)].map(({ name }) => name).sort(),
    );
  });

  test("are in seconds", () => {
    const { meterProvider, metrics: exported } = signals();
    const observe = openTelemetry({ meterProvider });
    const about = { domainPrefix: "shop", at: 1 } as Pick<
      RetailPosEvent & { type: "renewed" },
      "domainPrefix" | "at"
    >;
    observe({ ...about, type: "renewed", rotated: true, tookMs: 1500 });
    observe({ ...about, type: "renewed", rotated: true, tookMs: -3 }); // the clock was set back
    observe({ ...about, type: "token_request", grant: "refresh_token", startedAt: 1, tookMs: 250 });
    return exported().then((all) => {
      const sums = all.flatMap(({ descriptor, dataPoints }) =>
        descriptor.unit === "s" ? dataPoints.map(({ value }) => (value as { sum: number }).sum) : [],
      );
      expect(sums.sort()).toEqual([0.25, 1.5]);
    });
  });

  test.each<[string, Partial<RetailPosOptions>, (() => Response) | undefined, Record<string, string[]>]>([
    [
      "a token endpoint that is down",
      {},
      () => json({}, 500),
      {
        "retail_pos.token_requests": [
          '1 {"retail_pos.grant":"refresh_token","error.type":"token_endpoint_failed"}',
        ],
        "retail_pos.renewals": [
          '1 {"error.type":"token_endpoint_failed","retail_pos.served_held_token":false}',
        ],
        "retail_pos.callers.failed": ['1 {"error.type":"token_endpoint_failed"}'],
      },
    ],
    [
      "a 429",
      {},
      () => json({}, 429),
      {
        "retail_pos.token_requests": ['1 {"retail_pos.grant":"refresh_token","error.type":"rate_limited"}'],
        "retail_pos.renewals": [],
        "retail_pos.callers.failed": ['1 {"error.type":"rate_limited"}'],
      },
    ],
    [
      "a refused refresh token",
      {},
      () => oauthError("invalid_grant"),
      {
        "retail_pos.reconnects_required": ["1 {}"],
        "retail_pos.callers.failed": ['1 {"error.type":"reconnect_required"}'],
      },
    ],
    [
      "a wrong client secret",
      {},
      () => oauthError("invalid_client", 401),
      { "retail_pos.renewals": ['1 {"error.type":"client_refused","retail_pos.served_held_token":false}'] },
    ],
    [
      "a store that cannot be read",
      { cacheMs: 0, store: readOnce() },
      undefined,
      {
        "retail_pos.store.failures": ['1 {"retail_pos.operation":"load"}'],
        "retail_pos.callers.failed": ['1 {"error.type":"store_failed"}'],
      },
    ],
  ])("of %s", async (_, options, answer, expected) => {
    const { login, shop, service, time, points } = observed(options);
    await login();
    time.now += DAY_MS;
    if (answer) service.next(answer);
    await failureOf(shop.token());
    const after = await Promise.all(Object.keys(expected).map(async (name) => [name, await points(name)]));
    const refreshes = (point: string) => !point.includes("authorization_code");
    expect(after.map(([name, found]) => [name, (found as string[]).filter(refreshes)])).toEqual(
      Object.entries(expected),
    );
  });

  test("tell a code that was refused from an endpoint that failed", async () => {
    const { pos, service, points } = observed();
    service.next(
      () => oauthError("invalid_grant"),
      () => json({}, 502),
    );
    await failureOf(pos.exchange("shop", "made up"));
    await failureOf(pos.exchange("other", "a code"));
    expect(await points("retail_pos.logins")).toEqual([
      '1 {"error.type":"token_endpoint_failed"}',
      '1 {"error.type":"code_refused"}',
    ]);
  });

  test("of every failure begin with a zero, so that a rate sees the first one", async () => {
    const { meterProvider, metrics: exported } = signals();
    openTelemetry({ meterProvider });
    const series = (await exported()).flatMap(({ descriptor, dataPoints }) =>
      dataPoints.map(
        ({ attributes, value }) => `${descriptor.name} ${attributes["error.type"] ?? ""} ${value}`,
      ),
    );
    for (const expected of [
      "retail_pos.unsaved  0",
      "retail_pos.reconnects_required  0",
      "retail_pos.token_requests client_refused 0",
      "retail_pos.logins code_refused 0",
      "retail_pos.callers.failed bad_stored_tokens 0",
      "retail_pos.store.failures  0",
    ])
      expect(series).toContain(expected);
  });

  test("name no retailer, and nothing here shows a secret", async () => {
    const { login, pos, shop, service, time, metrics: exported, spans } = observed();
    await login();
    time.now += DAY_MS;
    service.next(() => json({ error: "server_error" }, 500));
    await failureOf(shop.token());
    await failureOf(pos.status("no-such shop"));
    await failureOf(pos.tokens("other-shop").token());
    const told = JSON.stringify(await exported());
    expect(told).not.toContain("shop");
    const traced = JSON.stringify(
      spans().map(({ attributes, status, name }) => ({ attributes, status, name })),
    );
    expect(traced).toContain("shop");
    for (const secret of ["the-client-secret", "a-code", "access-shop-1", "refresh-shop-1"]) {
      expect(told).not.toContain(secret);
      expect(traced).not.toContain(secret);
    }
  });

  test.each([...Object.values(COUNTERS), ...Object.values(HISTOGRAMS), ...Object.values(GAUGES)])(
    "$name is named as OpenTelemetry names",
    ({ name, unit, attributes, kind }) => {
      expect(name).toMatch(/^retail_pos(\.[a-z]+(_[a-z]+)*)+$/);
      expect(name).not.toMatch(/total$|seconds$/);
      expect(unit).toMatch(kind === "counter" ? /^\{[a-z_]+\}$/ : /^(s|\{[a-z_]+\})$/);
      expect(attributes.filter((attribute) => attribute.includes("prefix"))).toEqual([]);
    },
  );
});

/** A store that takes a login, and can be read no more afterwards. */
function readOnce() {
  const store = memoryStore();
  return { ...store, load: () => Promise.reject(new Error("away")) };
}

describe("spans", () => {
  beforeAll(() => {
    context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
    return () => context.disable();
  });

  test("of a token request lie below the caller who caused it, with its times and its retailer", async () => {
    const { login, shop, time, spans, tracer } = observed();
    await login();
    time.now += DAY_MS;
    const before = Date.now();
    const [first] = await Promise.all(
      ["first", "second"].map((name) =>
        tracer.startActiveSpan(name, async (span) => {
          await shop.token();
          span.end();
          return span.spanContext();
        }),
      ),
    );
    const [exchange, refresh] = spans().filter(({ name }) => name === "retail_pos.token_request");
    expect(exchange?.parentSpanContext).toBeUndefined();
    expect(refresh).toMatchObject({
      kind: SpanKind.CLIENT,
      status: { code: SpanStatusCode.UNSET },
      attributes: {
        "retail_pos.domain_prefix": "shop",
        "retail_pos.grant": "refresh_token",
        "http.response.status_code": 200,
      },
    });
    expect(refresh?.parentSpanContext).toMatchObject({ spanId: first?.spanId, traceId: first?.traceId });
    const [startedAt, endedAt] = [refresh?.startTime, refresh?.endTime].map(msOf);
    expect(startedAt).toBeGreaterThanOrEqual(before);
    expect(endedAt).toBeGreaterThanOrEqual(startedAt ?? Number.NaN);
    expect(endedAt).toBeLessThanOrEqual(Date.now() + 2); // two clocks of one machine
  });

  test("of a renewal in the background too, though its caller was served long ago", async () => {
    const { login, shop, time, spans, tracer } = observed();
    await login();
    time.now += DAY_MS - 60_000;
    const caller = await tracer.startActiveSpan("caller", async (span) => {
      await shop.token();
      span.end();
      return span.spanContext();
    });
    await settled();
    expect(spans().at(-1)).toMatchObject({
      name: "retail_pos.token_request",
      parentSpanContext: { spanId: caller.spanId },
    });
  });

  test("of a failed request say why", async () => {
    const { login, shop, service, time, spans } = observed();
    await login();
    time.now += DAY_MS;
    service.next(() => json({}, 503));
    const error = (await failureOf(shop.token())) as Error;
    expect(spans().at(-1)).toMatchObject({
      status: { code: SpanStatusCode.ERROR, message: error.message },
      attributes: { "error.type": "token_endpoint_failed", "http.response.status_code": 503 },
    });
  });
});

const msOf = (time: readonly [number, number] | undefined) =>
  time ? time[0] * 1000 + time[1] / 1e6 : Number.NaN;

describe("providers", () => {
  afterEach(() => {
    metrics.disable();
    trace.disable();
  });

  test("that are registered globally later are used from then on", async () => {
    const service = fakeService();
    const { login, shop, time } = start({ observe: openTelemetry() }, service);
    await login();
    const { meterProvider, tracerProvider, points, spans } = signals();
    metrics.setGlobalMeterProvider(meterProvider);
    trace.setGlobalTracerProvider(tracerProvider);
    time.now += DAY_MS;
    await context.with(ROOT_CONTEXT, () => shop.token());
    expect(await points("retail_pos.renewals")).toEqual(["1 {}"]);
    expect(spans()).toHaveLength(1);
  });

  test.each(["meterProvider", "tracerProvider"])("a %s that is none is a TypeError", (name) => {
    expect(() => openTelemetry({ [name]: {} })).toThrow(new RegExp(`^${name} `));
  });

  test.each([
    ["metreProvider", "meterProvider"],
    ["tracer", "tracerProvider"],
    ["meterprovider", "meterProvider"],
  ])("the option %s is a TypeError that says %s", (wrong, right) => {
    const message = `${wrong} is no option; it is called ${right} here`;
    expect(() => openTelemetry({ [wrong]: {} })).toThrow(new TypeError(message));
  });
});
