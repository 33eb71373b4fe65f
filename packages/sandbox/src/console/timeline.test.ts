import { expect, test } from "vitest";
import { type Client, startClient, type WireTokens } from "../../testing/client.js";
import { type SandboxOptions, virtualClock } from "../index.js";

const asked = "Asked for in the console or by a test";

interface Story {
  readonly name: string;
  readonly options?: SandboxOptions;
  readonly happens: (client: Client) => Promise<unknown>;
  /** The whole list, newest first, without the callers. */
  readonly told: readonly string[];
}

const clock = virtualClock();
const stories: readonly Story[] = [
  { name: "a login", happens: (client) => client.login(), told: ["Login R1 and A1 issued."] },
  {
    name: "a renewal that rotates",
    happens: async (client) => client.refresh((await client.login()).refresh_token),
    told: ["Renewed R2 replaced R1, A2 issued. A1 ended with R1.", "Login R1 and A1 issued."],
  },
  {
    name: "a renewal that does not",
    options: { rotation: "never" },
    happens: async (client) => client.refresh((await client.login()).refresh_token),
    told: ["Renewed With R1, which stays good: A2 issued.", "Login R1 and A1 issued."],
  },
  {
    name: "a renewal at the instant of expiry",
    options: { clock, lifetimeMs: 60_000 },
    async happens(client) {
      const { refresh_token } = await client.login();
      clock.advance(60_000);
      await client.refresh(refresh_token);
    },
    told: [
      "Renewed R2 replaced R1, A2 issued.",
      "Expired The time of A1 is over.",
      "Login R1 and A1 issued.",
    ],
  },
  {
    name: "access ended on demand, and a client that learns of it from the API, twice",
    async happens(client) {
      const { access_token } = await client.login();
      await client.call("/api/products", access_token);
      client.sandbox.expire(client.store);
      await client.call("/api/products", access_token);
      await client.call("/api/products", access_token);
    },
    told: [
      "Rejected A1 was sent to the API after its end.",
      `Expired A1, ahead of time. ${asked}`,
      "Login R1 and A1 issued.",
    ],
  },
  {
    name: "a spent refresh token",
    async happens(client) {
      const { refresh_token } = await client.login();
      await client.refresh(refresh_token);
      await client.refresh(refresh_token);
    },
    told: [
      "Refused R1 was sent, but it is spent: R2 had replaced it. Its sender did not have R2.",
      "Renewed R2 replaced R1, A2 issued. A1 ended with R1.",
      "Login R1 and A1 issued.",
    ],
  },
  {
    name: "what is no refresh token of the store",
    async happens(client) {
      const elsewhere = await client.login("rosas-bikes");
      const { access_token } = await client.login();
      await client.refresh(access_token);
      await client.refresh(elsewhere.refresh_token);
    },
    told: [
      "Refused A refresh token was sent that is none of this store's latest.",
      "Refused A1 was sent, which is an access token.",
      "Login R1 and A1 issued.",
    ],
  },
  {
    name: "refresh tokens refused on demand",
    async happens(client) {
      const { refresh_token } = await client.login();
      client.sandbox.refuse(client.store);
      await client.refresh(refresh_token);
    },
    told: [
      "Refused R1 was sent, which the sandbox was asked to refuse.",
      `Stopped No longer accepted: R1. ${asked}`,
      "Login R1 and A1 issued.",
    ],
  },
  {
    name: "a code that comes twice",
    async happens(client) {
      const code = client.codeFor();
      const { refresh_token = "" } = (await (await client.exchange(code)).json()) as WireTokens;
      await client.exchange(code);
      await client.refresh(refresh_token);
    },
    told: [
      "Refused R1 was sent, which has been revoked.",
      "Revoked R1 and A1, because the code of that login was sent a second time (RFC 6749, 4.1.2).",
      "Login R1 and A1 issued.",
    ],
  },
  ...(["half", "reset-after"] as const).map((fault) => ({
    name: `an answer that the fault "${fault}" cut off`,
    async happens(client: Client) {
      const { refresh_token } = await client.login();
      client.sandbox.fault(fault);
      await client
        .refresh(refresh_token)
        .then((answer) => answer.text())
        .catch(() => undefined);
    },
    told: [
      "Renewed R2 replaced R1, A2 issued. A1 ended with R1. The answer was cut off: nobody received R2 and A2.",
      "Login R1 and A1 issued.",
    ],
  })),
];

test.each(stories)("$name is told in words", async ({ options, happens, told }) => {
  const client = await startClient(options);
  await happens(client);
  const lines = linesOf(await timelineOf(client, client.store));
  expect(lines.map((line) => line.replace(/ node, port \d+$/, ""))).toEqual(told);
});

test("who did it is named by User-Agent and port", async () => {
  const client = await startClient();
  await client.login();
  const [line] = linesOf(await timelineOf(client));
  expect(line).toMatch(/^Login R1 and A1 issued\. node, port [1-9]\d+$/);
});

test("a caller's name is shown as text, and never with a secret in it", async () => {
  const client = await startClient({ clientSecret: "canary-client-secret" });
  const { access_token, refresh_token } = await client.login();
  await client.refresh(refresh_token);
  const agents = [
    "<script>alert(1)</script>",
    `agent/${access_token}/${refresh_token}/canary-client-secret`,
    `${"x".repeat(70)}canary-client-secret`, // longer than what is shown of a name
  ];
  for (const agent of agents) {
    await fetch(client.tokenUrl(), {
      method: "POST",
      headers: { "user-agent": agent },
      body: new URLSearchParams({ ...client.credentials, grant_type: "refresh_token", refresh_token }),
    });
  }
  const html = await timelineOf(client);
  expect(html).toContain("&#60;script&#62;");
  expect(html).not.toContain("<script");
  for (const secret of [access_token, refresh_token]) expect(html).not.toContain(secret.slice(-8));
  expect(html).not.toContain("canary");
});

test("the alarm over a spent token stays until somebody has received new tokens", async () => {
  const client = await startClient();
  const { sandbox } = client;
  const alarm = "A spent refresh token was sent";
  const { refresh_token } = await client.login();
  const second = (await (await client.refresh(refresh_token)).json()) as WireTokens;
  expect(await timelineOf(client)).not.toContain(alarm);

  await client.refresh(refresh_token);
  expect(await timelineOf(client)).toMatch(/A spent refresh token was sent at [\d:]+<\/b> by node, port \d+/);
  expect(await pageOf(client)).toContain("May be lost");
  sandbox.fault("reset-after");
  await client.refresh(second.refresh_token ?? "").catch(() => undefined);
  expect(await timelineOf(client)).toContain(alarm);

  await client.login();
  expect(await timelineOf(client)).not.toContain(alarm);
  expect(await pageOf(client)).not.toContain("May be lost");
});

test("it is as long as its bounds, however much happens", async () => {
  const client = await startClient({ rateLimit: { limit: 1000, windowMs: 60_000 } });
  const first = await client.login();
  let { refresh_token } = first;
  for (let count = 0; count < 120; count += 1) {
    refresh_token = ((await (await client.refresh(refresh_token)).json()) as WireTokens).refresh_token ?? "";
  }
  await client.refresh(first.refresh_token);
  const html = await timelineOf(client);
  expect(linesOf(html)).toHaveLength(100);
  expect(linesOf(html)[0]).toContain("none of this store's latest");
});

test("without a choice it is the store that changed last; with one it is that store, also on the page", async () => {
  const client = await startClient();
  const storeOf = async (query = "") =>
    ((await (await timeline(client, query)).json()) as { store: string }).store;
  expect(await storeOf()).toBe("");
  expect(await pageOf(client)).toMatch(/<section id="timeline"[^>]* data-store="" hidden>/);
  await client.login("rosas-bikes");
  await client.login();
  expect(await storeOf()).toBe(client.store);
  expect(await storeOf("?store=rosas-bikes")).toBe("rosas-bikes");
  expect(await storeOf("?store=no-such-store")).toBe(client.store);
  expect(await storeOf(`?store=${encodeURIComponent('"><script>')}`)).toBe(client.store);
  expect(await pageOf(client, "?store=rosas-bikes")).toContain('data-store="rosas-bikes"');
  expect(linesOf(await timelineOf(client, "plant-room"))).toEqual([]);
});

test("a card says when the tokens were last of use, and leads to their timeline", async () => {
  const time = virtualClock(Date.UTC(2026, 0, 5, 9, 30));
  const client = await startClient({ clock: time });
  const { access_token } = await client.login();
  const lastUsed = async () => /Last used at (?:\w+ \w+, )?([\d:]+)\./.exec(await pageOf(client))?.[1];
  const before = await lastUsed();
  time.advance(61_000);
  await client.call("/api/products", "a-token-of-nobody");
  expect(await lastUsed()).toBe(before);
  await client.call("/api/products", access_token);
  expect(await lastUsed()).not.toBe(before);
  expect(await pageOf(client)).toContain(`href="/?store=${client.store}#timeline"`);
});

function timeline({ sandbox }: Client, query: string): Promise<Response> {
  return fetch(`${sandbox.url}/console/timeline${query}`);
}

async function timelineOf(client: Client, domainPrefix?: string): Promise<string> {
  const answer = await timeline(client, domainPrefix === undefined ? "" : `?store=${domainPrefix}`);
  return ((await answer.json()) as { html: string }).html;
}

async function pageOf({ sandbox }: Client, query = ""): Promise<string> {
  return (await fetch(`${sandbox.url}/${query}`)).text();
}

/** Newest first, as a person reads them. */
function linesOf(html: string): string[] {
  return [...html.matchAll(/<li class="is-[^>]*>.*?<p>(.*?)<\/p>/gs)].map(([, text = ""]) =>
    text
      .replace(/<[^>]+>/g, "")
      .replace(/&#39;/g, "'")
      .replace(/\s+/g, " ")
      .trim(),
  );
}
