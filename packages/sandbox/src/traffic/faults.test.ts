import { expect, test } from "vitest";
import { type Client, startClient } from "../../testing/client.js";
import type { FaultKind, FaultOptions } from "../index.js";

const kinds: [kind: FaultKind, seen: unknown, workDone: boolean][] = [
  [500, 500, false],
  [429, 429, false],
  [418, 418, false],
  ["reset", "broken", false],
  ["html", "200 text/html", false],
  ["redirect", 307, false],
  ["half", "broken", true],
  ["reset-after", "broken", true],
];
for (const [kind, seen, workDone] of kinds) {
  test(`${kind}: the client sees ${seen}, and the refresh token is ${workDone ? "spent" : "untouched"}`, async () => {
    const client = await startClient();
    const { refresh_token } = await client.login();
    const fault = client.sandbox.fault(kind);
    expect(await seenBy(client, refresh_token)).toBe(seen);
    await fault.struck;
    expect(fault.hits).toBe(1);
    expect(client.sandbox.accepts(client.store, refresh_token)).toBe(!workDone);
    expect(client.sandbox.tokenRequests().at(-1)).toMatchObject({ fault: kind });
    expect(await seenBy(client, refresh_token)).toBe(workDone ? 400 : 200);
  });
}

test("silence: nothing is answered and nothing done, until the client gives up", async () => {
  const client = await startClient();
  const { refresh_token } = await client.login();
  const silence = client.sandbox.fault("silence");
  const patience = new AbortController();
  const body = new URLSearchParams({ ...client.credentials, grant_type: "refresh_token", refresh_token });
  const pending = fetch(client.tokenUrl(), { method: "POST", body, signal: patience.signal });
  await silence.struck;
  patience.abort();
  await expect(pending).rejects.toThrow(/abort/);
  expect(client.sandbox.accepts(client.store, refresh_token)).toBe(true);
  expect(client.sandbox.tokenRequests().at(-1)).not.toHaveProperty("status");
});

test("late: the work is done when it hits, the answer comes with release", async () => {
  const client = await startClient();
  const { refresh_token } = await client.login();
  const late = client.sandbox.fault("late");
  const pending = client.refresh(refresh_token);
  await late.struck;
  expect(client.sandbox.accepts(client.store, refresh_token)).toBe(false);
  expect(client.sandbox.tokenRequests().at(-1)).not.toHaveProperty("status");
  late.release();
  const response = await pending;
  expect(response.status).toBe(200);
  const { access_token } = (await response.json()) as { access_token: string };
  expect(client.sandbox.accepts(client.store, access_token)).toBe(true);
});

test("clearFaults lets late answers go", async () => {
  const client = await startClient();
  const late = client.sandbox.fault("late", { times: 2 });
  const pending = [client.exchange(client.codeFor()), client.exchange(client.codeFor())];
  await late.struck;
  client.sandbox.clearFaults();
  expect((await Promise.all(pending)).map((response) => response.status)).toEqual([200, 200]);
});

test("faults of the token endpoint carry the rate limit's headers, 429 with nothing remaining", async () => {
  const client = await startClient();
  client.sandbox.fault(503);
  expect((await client.post({})).headers.get("x-ratelimit-remaining")).toMatch(/^\d+$/);
  client.sandbox.fault(429);
  expect((await client.post({})).headers.get("x-ratelimit-remaining")).toBe("0");
});

test("redirect leads to another origin, where whoever comes is written down", async () => {
  const client = await startClient();
  const { access_token } = await client.login();
  client.sandbox.fault("redirect", { endpoint: "api" });
  const response = await client.call("/api/products", access_token);
  expect(response.redirected).toBe(true);
  expect(new URL(response.url).origin).not.toBe(client.sandbox.url);
  // fetch drops the bearer at the border; a client that did not would be seen here.
  expect(client.sandbox.requests.at(-1)).toMatchObject({ endpoint: "trap", authorization: false });
});

test("redirect leads where it is told", async () => {
  const client = await startClient();
  client.sandbox.fault("redirect", { to: "http://127.0.0.1:9/" });
  const response = await fetch(client.tokenUrl(), { method: "POST", redirect: "manual" });
  expect(response.headers.get("location")).toBe("http://127.0.0.1:9/");
});

test("a fault hits the store, the endpoint and the times it was asked for", async () => {
  const client = await startClient();
  const tokens = await client.login();
  client.sandbox.fault(500, { domainPrefix: "rosas-bikes" });
  client.sandbox.fault(502, { endpoint: "api", times: 2 });
  expect((await client.refresh(tokens.refresh_token)).status).toBe(200);
  expect((await client.post({}, "rosas-bikes")).status).toBe(500);
  expect((await client.post({}, "rosas-bikes")).status).toBe(400);
  const statuses = [];
  for (let call = 0; call < 3; call += 1) statuses.push((await client.call("/api/products")).status);
  expect(statuses).toEqual([502, 502, 401]);
});

test("faults hit in the order they were asked for, and clearing one store leaves the others", async () => {
  const client = await startClient();
  client.sandbox.fault(500, { domainPrefix: client.store });
  client.sandbox.fault(502, { domainPrefix: client.store, times: Number.POSITIVE_INFINITY });
  client.sandbox.fault(503, { domainPrefix: "rosas-bikes" });
  const statuses = [];
  for (let request = 0; request < 3; request += 1) statuses.push((await client.post({})).status);
  expect(statuses).toEqual([500, 502, 502]);
  client.sandbox.clearFaults(client.store);
  expect((await client.post({})).status).toBe(400);
  expect((await client.post({}, "rosas-bikes")).status).toBe(503);
});

const mistakes: [what: string, kind: unknown, options: unknown][] = [
  ["an unknown kind", "explode", {}],
  ["a status of success", 200, {}],
  ["an unknown endpoint", 500, { endpoint: "connect" }],
  ["no times", 500, { times: 0 }],
  ["half a time", 500, { times: 0.5 }],
  ["an address that is none", "redirect", { to: "/trap" }],
];
for (const [what, kind, options] of mistakes) {
  test(`${what} is a TypeError`, async () => {
    const { sandbox } = await startClient();
    expect(() => sandbox.fault(kind as FaultKind, options as FaultOptions)).toThrow(TypeError);
  });
}

async function seenBy(client: Client, refreshToken: string): Promise<unknown> {
  try {
    const body = new URLSearchParams({
      ...client.credentials,
      grant_type: "refresh_token",
      refresh_token: refreshToken,
    });
    const response = await fetch(client.tokenUrl(), { method: "POST", body, redirect: "manual" });
    await response.text();
    const type = response.headers.get("content-type") ?? "";
    return type.startsWith("text/html") ? `${response.status} text/html` : response.status;
  } catch {
    return "broken";
  }
}
