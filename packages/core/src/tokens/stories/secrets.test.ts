import { inspect } from "node:util";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { DAY_MS, json, type Script, settled, start, T0 } from "../../../testing/fake-service.js";
import { memoryLock } from "../../store/locks.js";
import { memoryStore } from "../../store/memory-store.js";
import { StoreFailedError } from "../../vocabulary/errors.js";
import type { TokenSet } from "../../vocabulary/token-set.js";
import type { TokenStore } from "../../vocabulary/token-store.js";

const CANARY = {
  code: "canary-code/1+=",
  clientSecret: "canary-secret/2+=&",
  access: "canary-access/3+=",
  refresh: "canary-refresh/4+=",
  newAccess: "canary-access/5+=",
  newRefresh: "canary-refresh/6+=",
};

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
});
afterEach(() => {
  vi.useRealTimers();
});

const echo: Script = ({ form }) =>
  json(
    { error: form.get("client_secret"), error_description: `${form} ${[...form.values()].join(" ")}` },
    500,
  );

const scripts: Array<{ name: string; script: Script }> = [
  { name: "500 that repeats the form", script: echo },
  {
    name: "400 that repeats the form",
    script: async (seen, regular) => new Response((await echo(seen, regular)).body, { status: 400 }),
  },
  {
    name: "invalid_request that repeats it",
    script: ({ form }) => json({ error: "invalid_request", error_description: `${form}` }, 400),
  },
  { name: "200 that repeats the form as text", script: ({ form }) => new Response(`${form}`) },
  {
    name: "200 with half a JSON",
    script: () => new Response(`{"access_token":"${CANARY.newAccess}","refresh_token":"${CANARY.newRefresh}`),
  },
  {
    name: "200 of another retailer",
    script: () =>
      json({ access_token: CANARY.newAccess, refresh_token: CANARY.newRefresh, domain_prefix: "other" }),
  },
  {
    name: "200 without an access token",
    script: () => json({ refresh_token: CANARY.newRefresh, access_token: { value: CANARY.newAccess } }),
  },
  {
    name: "200 with a new token",
    script: () => json({ access_token: CANARY.newAccess, refresh_token: CANARY.newRefresh }),
  },
  { name: "200 with the same token", script: () => json({ access_token: CANARY.access }) },
  ...[200, 400, 403, 500].map((status) => ({
    name: `${status} that names the tokens which are valid`,
    script: () => {
      const tokens = `${CANARY.access} and ${CANARY.refresh}`;
      return json({ error: CANARY.access, error_description: `these are valid: ${tokens}` }, status);
    },
  })),
  { name: "429", script: ({ form }) => json({ form: `${form}` }, 429, { "x-ratelimit-reset": `${form}` }) },
  {
    name: "a redirect that repeats it",
    script: ({ form }) => new Response(null, { status: 302, headers: { location: `/?${form}` } }),
  },
  {
    name: "a network error with the bytes of the form",
    script: ({ form }) => Promise.reject(Object.assign(new Error("reset"), { sent: Buffer.from(`${form}`) })),
  },
  {
    name: "500 that repeats the form in base64, hex and HTML",
    script: ({ form }) => {
      const [code] = [form.get("code") ?? form.get("refresh_token") ?? ""];
      const bytes = Buffer.from(`${form.get("client_secret")}`);
      const error = `${bytes.toString("base64")} ${Buffer.from(code).toString("base64url")}`;
      return json(
        { error, error_description: `${bytes.toString("hex")} ${bytes.toString("hex").toUpperCase()}` },
        500,
      );
    },
  },
  {
    name: "a network error that repeats it",
    script: ({ form, url }) => {
      const cause = Object.assign(new Error(`POST ${url} ${form}`), {
        request: { body: `${form}`, form: [...form] },
      });
      return Promise.reject(new TypeError("fetch failed", { cause }));
    },
  },
];

for (const { name, script } of scripts) {
  test(`no event and no error shows a secret: ${name}`, async () => {
    const { events, failures, pos, service, time, value, shop } = await withCanaries();
    service.always(script);
    failures.push(await errorOf(pos.exchange("shop", CANARY.code)));
    time.now += 3_600_000;
    await value().catch((error: unknown) => failures.push(error));
    await settled();
    failures.push(await errorOf(shop.token({ rejected: CANARY.access })));
    time.now += 2 * DAY_MS;
    failures.push(await errorOf(value()));
    failures.push(await errorOf(value()));
    await settled();
    expectNoSecret(events);
    expectNoSecret(failures);
  });
}

const leakySave: TokenStore["save"] = (next, replacing) =>
  Promise.reject(
    Object.assign(new Error(`UPDATE tokens SET data = '${JSON.stringify(next)}'`), {
      parameters: [next.access.value, next.refreshToken, replacing?.refreshToken, { ...next }],
    }),
  );

test("no event and no error shows a secret: a store whose save repeats what it was given", async () => {
  const { events, failures, pos, service, store, time, tokens, value } = await withCanaries();
  store.save = leakySave;
  failures.push(await errorOf(pos.connect(tokens)));
  time.now = T0 + DAY_MS;
  service.always(() => json({ access_token: CANARY.newAccess, refresh_token: CANARY.newRefresh }));
  const waiting = value();
  await settled();
  await vi.advanceTimersByTimeAsync(10_000);
  await waiting;
  expect(events.map(({ type }) => type)).toContain("unsaved");
  expectNoSecret(events);
  expectNoSecret(failures);
});

test("no event and no error shows a secret: a store whose mark of a refusal fails and repeats what it was given", async () => {
  const { events, failures, service, store, time, value } = await withCanaries();
  store.save = leakySave;
  time.now = T0 + DAY_MS;
  service.always(() => json({ error: "invalid_grant" }, 400));
  failures.push(await errorOf(value()));
  expect(events.map(({ type }) => type)).toContain("store_failed");
  expect(events.map(({ type }) => type)).not.toContain("unsaved");
  expectNoSecret(events);
  expectNoSecret(failures);
});

test("no event and no error shows a secret: a store whose load repeats what it holds", async () => {
  const { events, failures, store, time, tokens, value } = await withCanaries();
  store.load = () => Promise.reject(new SyntaxError(`Unexpected end of ${JSON.stringify(tokens)}`));
  time.now += 20_000;
  expect(await value()).toBe(CANARY.access);
  time.now = T0 + DAY_MS;
  failures.push(await errorOf(value()));
  expectNoSecret(events);
  expectNoSecret(failures);
});

describe("no event and no error shows a secret: a store whose load repeats what it holds", () => {
  const another = "another-canary/9+=";
  const errors: Array<{ name: string; thrown: (json: string) => unknown }> = [
    { name: "in its message", thrown: (json) => new SyntaxError(`Unexpected end of ${json}`) },
    {
      name: "in a property",
      thrown: (json) => Object.assign(new Error("failed"), { row: JSON.parse(json) }),
    },
    { name: "in a cause", thrown: (json) => new Error("failed", { cause: new Error(json) }) },
    { name: "in its code", thrown: () => Object.assign(new Error("failed"), { code: another }) },
    { name: "as a text", thrown: (json) => json },
    { name: "as bytes", thrown: (json) => Buffer.from(json) },
  ];
  for (const { name, thrown } of errors) {
    test(`at a cold start, when nobody knows the secrets: ${name}`, async () => {
      const record = JSON.stringify({ access: { value: CANARY.access }, refreshToken: another });
      const store: TokenStore = { ...memoryStore(), load: () => Promise.reject(thrown(record)) };
      const { events, value } = start({ store });
      const failures = [await errorOf(value())];
      expectNoSecret([...events, ...failures]);
      expect(inspect([events, failures], { depth: 10, showHidden: true })).not.toContain("another");
      expect(failures[0]).toMatchObject({ code: "store_failed", operation: "load" });
    });
  }

  test("of a record that is another by now, while a copy is held", async () => {
    const { events, failures, store, time, tokens, value } = await withCanaries();
    store.load = () => Promise.reject(new Error(JSON.stringify({ ...tokens, refreshToken: another })));
    time.now = T0 + DAY_MS;
    failures.push(await errorOf(value()));
    expectNoSecret(events);
    expectNoSecret(failures);
    expect(inspect([events, failures], { depth: 10, showHidden: true })).not.toContain("another");
  });

  test("and says in plain words what is wrong; our own stores' errors stay as they are", async () => {
    const refused = Object.assign(new Error("connect ECONNREFUSED 127.0.0.1:5432"), { code: "ECONNREFUSED" });
    const foreign = start({ store: { ...memoryStore(), load: () => Promise.reject(refused) } });
    expect(await errorOf(foreign.value())).toMatchObject({
      message: 'The store could not load the tokens of retailer "shop": connect ECONNREFUSED [hidden]',
      cause: { message: "connect ECONNREFUSED [hidden]", code: "ECONNREFUSED" },
    });
    const own = new StoreFailedError("load", "The database at 127.0.0.1:5432 is away");
    const ours = start({ store: { ...memoryStore(), load: () => Promise.reject(own) } });
    expect(await errorOf(ours.value())).toBe(own);
  });
});

test("no event and no error shows a secret: a record that is broken", async () => {
  const { events, failures, store, time, tokens, value } = await withCanaries();
  const records: unknown[] = [
    JSON.stringify(tokens),
    { ...tokens, domainPrefix: CANARY.access },
    { ...tokens, access: CANARY.access },
    { ...tokens, access: { value: `${CANARY.access} ` } },
    { ...tokens, issuedAt: CANARY.refresh },
    { ...tokens, refusedAt: CANARY.refresh },
  ];
  time.now = T0 + DAY_MS;
  for (const record of records) {
    store.load = async () => record as TokenSet;
    time.now += 20_000;
    failures.push(await errorOf(value()));
  }
  expectNoSecret(events);
  expectNoSecret(failures);
});

test("no error of connect shows a secret", async () => {
  const { failures, pos, tokens } = await withCanaries();
  for (const bad of [
    { ...tokens, domainPrefix: CANARY.refresh },
    { ...tokens, access: CANARY.access },
    { ...tokens, access: { value: `${CANARY.access}\n` } },
    { ...tokens, issuedAt: CANARY.access },
  ]) {
    failures.push(await errorOf(pos.connect(bad as unknown as TokenSet)));
  }
  expectNoSecret(failures);
});

test("printing a token set, a token, a client or a retailer's client shows no secret", async () => {
  const { pos, shop, store, tokens } = await withCanaries();
  const shown = [
    tokens,
    await shop.token(),
    await store.load(tokens.domainPrefix),
    pos,
    pos.retailer("shop"),
    shop,
  ];
  for (const thing of shown) {
    expectNoSecretIn(inspect(thing, { depth: 10, showHidden: true }));
    expectNoSecretIn(String(thing));
  }
});

/** A connected client whose every secret is a canary. The test may replace the store's methods. */
async function withCanaries() {
  const store: { -readonly [method in keyof TokenStore]: TokenStore[method] } = memoryStore();
  const live: TokenStore = {
    load: (prefix) => store.load(prefix),
    save: (next, replacing) => store.save(next, replacing),
    remove: (prefix) => store.remove(prefix),
  };
  const started = start({ store: live, lock: memoryLock(), clientSecret: CANARY.clientSecret });
  started.service.next(() =>
    json({ access_token: CANARY.access, refresh_token: CANARY.refresh, expires_in: 7200 }),
  );
  const tokens = await started.pos.exchange("shop", CANARY.code);
  await started.pos.connect(tokens);
  const failures: unknown[] = [];
  return { ...started, store, tokens, failures };
}

/** The error of a promise; `undefined` where it succeeds. */
function errorOf(work: Promise<unknown>): Promise<unknown> {
  return work.then(
    () => undefined,
    (error: unknown) => error,
  );
}

function expectNoSecret(things: unknown[]): void {
  expect(things.length).toBeGreaterThan(0);
  for (const thing of things) {
    expectNoSecretIn(inspect(thing, { depth: 10, showHidden: true }));
    expectNoSecretIn(JSON.stringify(thing) ?? "");
    expectNoSecretIn(String(thing));
    for (let error: unknown = thing; error instanceof Error; error = error.cause) {
      expectNoSecretIn(
        `${error.message} ${error.stack} ${JSON.stringify(error)} ${Reflect.get(error, "sent")}`,
      );
    }
  }
}

function expectNoSecretIn(text: string): void {
  for (const [name, secret] of Object.entries(CANARY)) {
    const bytes = Buffer.from(secret);
    const coded = [bytes.toString("base64"), bytes.toString("base64url"), bytes.toString("hex")];
    for (const form of [secret, encodeURIComponent(secret), secret.slice(0, 12), ...coded]) {
      if (text.toLowerCase().includes(form.toLowerCase()))
        throw new Error(`The secret "${name}" is shown: ${text}`);
    }
  }
}

test("whatever a foreign store says about a record that nobody has heard of shows no token", async () => {
  const fail = async () => {
    throw new Error('cannot touch {"refreshToken":"somebody-elses-refresh-token"}, sorry');
  };
  const { pos, events, login } = start({ store: { load: fail, save: fail, remove: fail, claim: fail } });
  const asked = [login(), pos.disconnect("shop"), pos.claim("key", 1000), pos.status("shop")];
  const errors = await Promise.all(asked.map((work) => work.catch((error: unknown) => error)));
  for (const error of errors) expect(error).toMatchObject({ code: "store_failed" });
  const shown = inspect([errors, events], { depth: 12, showHidden: true });
  expect(shown).toContain("cannot touch");
  expect(shown).not.toContain("somebody-elses");
});
