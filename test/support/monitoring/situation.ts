import { PrometheusSerializer } from "@opentelemetry/exporter-prometheus";
import { MeterProvider, MetricReader } from "@opentelemetry/sdk-metrics";
import {
  memoryStore,
  type RetailPos,
  type RetailPosOptions,
  retailPos,
  type TokenStore,
} from "@retail-pos/core";
import { countRetailers, openTelemetry } from "@retail-pos/opentelemetry";
import { type Sandbox, startSandbox, type VirtualClock, virtualClock } from "@retail-pos/sandbox";
import { vi } from "vitest";
import type { Samples } from "./prometheus.js";

const SCRAPE_SECONDS = 60;

/** An application with its metrics, beside a sandbox, in time that a test moves. */
export interface Situation {
  readonly pos: RetailPos;
  readonly sandbox: Sandbox;
  /** What a test changes to make the store fail. */
  readonly store: Required<TokenStore>;
  readonly stores: readonly string[];
  logIn(...stores: readonly string[]): Promise<void>;
  /** A login with a code that nobody was given. */
  forge(store: string): Promise<void>;
  /** Somebody asks for a token; what goes wrong is what the situation is about. */
  call(...stores: readonly string[]): Promise<void>;
  /** Lets time pass: so many seconds, with something to do at the end of each step; scraped every 60 of them. */
  pass(seconds: number, act?: () => unknown, stepSeconds?: number): Promise<void>;
  /** The same store and the same metrics, with other options: a new deployment. */
  redeploy(options: Partial<RetailPosOptions>): void;
}

/** @returns every series as Prometheus would have scraped it. */
export async function samplesOf(
  play: (situation: Situation) => Promise<void>,
  more: { readonly lifetimeMs?: number; readonly options?: Partial<RetailPosOptions> } = {},
): Promise<{ samples: Samples; everySeconds: number }> {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  const clock = virtualClock();
  const sandbox = await startSandbox({
    clock,
    approved: true,
    stores: 40,
    ...(more.lifetimeMs && { lifetimeMs: more.lifetimeMs }),
  });
  const scraped = scraper();
  const requests = tracked();
  const store = { ...memoryStore() } as Required<TokenStore>;
  const base = {
    ...{ authUrl: sandbox.authUrl, baseUrl: sandbox.baseUrl, ...sandbox.application },
    ...{ clock, store: passedOn(store), fetch: requests.fetch, observe: openTelemetry(scraped) },
    ...more.options,
  };
  const app = { pos: retailPos(base) };
  let stop = () => {};
  try {
    stop = countRetailers({ client: app.pos, clock, meterProvider: scraped.meterProvider });
    const about = { sandbox, store, clock, requests, scrape: scraped.scrape, app };
    const redeploy = (options: Partial<RetailPosOptions>) => {
      app.pos = retailPos({ ...base, ...options });
    };
    await play({ ...actions(about), redeploy });
    return { samples: scraped.samples, everySeconds: SCRAPE_SECONDS };
  } finally {
    stop();
    vi.useRealTimers();
    await sandbox.close();
  }
}

interface About {
  readonly sandbox: Sandbox;
  readonly store: Required<TokenStore>;
  readonly clock: VirtualClock;
  readonly requests: { over(): Promise<void> };
  readonly scrape: () => Promise<void>;
  readonly app: { pos: RetailPos };
}

function actions({ sandbox, store, clock, requests, scrape, app }: About): Omit<Situation, "redeploy"> {
  const codeOf = (name: string) => sandbox.approve(name).searchParams.get("code") ?? "";
  let passed = 0;
  return {
    get pos() {
      return app.pos;
    },
    sandbox,
    store,
    stores: sandbox.stores.map(({ domainPrefix }) => domainPrefix),
    async logIn(...names) {
      for (const name of names) await app.pos.connect(await app.pos.exchange(name, codeOf(name)));
    },
    forge: (name) => app.pos.exchange(name, "made-up").then(ignore, ignore),
    async call(...names) {
      await Promise.all(names.map((name) => app.pos.tokens(name).token().then(ignore, ignore)));
    },
    async pass(seconds, act = ignore, stepSeconds = SCRAPE_SECONDS) {
      const partSeconds = Math.min(stepSeconds, SCRAPE_SECONDS);
      for (let at = partSeconds; at <= seconds; at += partSeconds) {
        clock.advance(partSeconds * 1000);
        vi.advanceTimersByTime(partSeconds * 1000);
        if (at % stepSeconds === 0) await act();
        await requests.over();
        passed += partSeconds;
        if (passed % SCRAPE_SECONDS === 0) await scrape();
      }
    },
  };
}

const ignore = () => {};

/** A test may replace the methods of a store while core uses it. */
function passedOn(store: Required<TokenStore>): TokenStore {
  return {
    load: (...args) => store.load(...args),
    save: (...args) => store.save(...args),
    remove: (...args) => store.remove(...args),
    list: (...args) => store.list(...args),
    claim: (...args) => store.claim(...args),
  };
}

/** A `fetch` of which it is known when nothing is under way: renewals in the background have no caller to wait for. */
function tracked(): { fetch: typeof fetch; over(): Promise<void> } {
  const underWay = new Set<Promise<unknown>>();
  return {
    fetch(...call) {
      const answer = fetch(...call);
      underWay.add(answer);
      const over = () => void underWay.delete(answer);
      answer.then(over, over);
      return answer;
    },
    async over() {
      do {
        await Promise.allSettled(underWay);
        for (let turn = 0; turn < 10; turn += 1) await new Promise(setImmediate);
      } while (underWay.size > 0);
    },
  };
}

/** What Prometheus does: it reads the exporter's page, and remembers a sample of each series. */
function scraper(): { meterProvider: MeterProvider; samples: Samples; scrape(): Promise<void> } {
  const reader = new ReaderInMemory();
  const meterProvider = new MeterProvider({ readers: [reader] });
  const page = new PrometheusSerializer(undefined, false, undefined, true, true);
  const samples = new Map<string, (number | undefined)[]>();
  let scrapes = 0;

  async function scrape(): Promise<void> {
    const { resourceMetrics } = await reader.collect();
    for (const line of page.serialize(resourceMetrics).split("\n")) {
      const [, name, labels, value] = /^(\w+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? [];
      if (!name || /_(bucket|sum|count)$/.test(name)) continue; // no rule asks for a histogram
      const series = `${name}{job="application"${labels ? `,${labels}` : ""}}`;
      const values = samples.get(series) ?? Array<undefined>(scrapes).fill(undefined);
      samples.set(series, values);
      values[scrapes] = Number(value);
    }
    scrapes += 1;
  }
  return { meterProvider, samples, scrape };
}

class ReaderInMemory extends MetricReader {
  protected async onForceFlush(): Promise<void> {}
  protected async onShutdown(): Promise<void> {}
}
