import { memoryStore, type RetailPosEvent, retailPos } from "@retail-pos/core";
import { startSandbox } from "@retail-pos/sandbox";
import { describe, expect, test } from "vitest";
import { moduleOf } from "../../testing/module.js";
import { HOUR, NOON, setOf } from "../../testing/records.js";
import { run } from "../../testing/terminal.js";

const clock = () => NOON;

/** Two retailers: the token of one ends within the hour, at a token endpoint that is away; the other's lives on. */
async function awayModule(observe?: (event: RetailPosEvent) => void): Promise<string> {
  const store = memoryStore();
  await store.save(setOf("ending", { access: { value: "canary", expiresAt: NOON + HOUR / 2 } }));
  await store.save(setOf("living"));
  const client = retailPos({
    baseUrl: "http://localhost:9/{domain_prefix}",
    clientId: "application",
    clientSecret: "canary-client-secret",
    fetch: () => Promise.reject(new Error("away")),
    store,
    clock,
    ...(observe && { observe }),
  });
  return moduleOf({ client });
}

test.each<[string, ((event: RetailPosEvent) => void)?]>([
  ["without an observe"],
  ["with an observe", () => {}],
  [
    "with an observe that throws",
    () => {
      throw new Error("canary");
    },
  ],
])(
  "of a client %s, failed renewals are counted, and no advice follows: exit code 1",
  async (_name, observe) => {
    const args = ["renew-due", "--within", "1h", "--client", await awayModule(observe)];
    const { exitCode, stdout, stderr } = await run(args, { clock });
    expect(stdout).toBe(
      "2 retailers seen\n1 of these due\n0 renewed\n0 refused: must log in again\n1 failed\n" +
        "0 renewed meanwhile by another process\n",
    );
    expect({ exitCode, stderr }).toEqual({ exitCode: 1, stderr: "" });
  },
);

test("--help says where the reasons are: in the client's observe, which is told each error", async () => {
  expect((await run(["renew-due", "--help"])).stdout).toMatch(
    /the client's observe\s+says which renewals failed/,
  );
  const lines: string[] = [];
  const client = await awayModule((event) => {
    if ("error" in event && event.error) lines.push(`${event.type} ${event.domainPrefix}`);
  });
  await run(["renew-due", "--within", "1h", "--client", client], { clock });
  expect(lines).toContain("renewal_failed ending");
});

test("tokens that come after the deadline are saved before the command ends", async () => {
  const store = memoryStore();
  const ending = setOf("ending", { access: { value: "canary", expiresAt: NOON + HOUR / 2 } });
  await store.save(ending);
  const client = retailPos({
    baseUrl: "http://localhost:9/{domain_prefix}",
    clientId: "application",
    clientSecret: "canary-client-secret",
    timeoutMs: 1000, // what comes within three times that is saved
    async fetch() {
      await new Promise((resolve) => setTimeout(resolve, 1200));
      return Response.json({ access_token: "canary-late", refresh_token: "late", expires_in: 86_400 });
    },
    store,
    clock,
  });
  const args = ["renew-due", "--within", "1h", "--client", await moduleOf({ client })];
  const { exitCode, stdout } = await run(args, { clock });
  expect({ exitCode, stdout }).toEqual({ exitCode: 0, stdout: expect.stringContaining("\n1 renewed\n") });
  expect((await store.load(ending.domainPrefix))?.refreshToken).toBe("late");
});

test("if nothing failed there is no advice", async () => {
  const client = await awayModule();
  const { exitCode, stdout, stderr } = await run(["renew-due", "--within", "30s", "--client", client], {
    clock,
  });
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
  expect(stdout).toContain("0 of these due\n");
});

test.each(["0", "1001"])("--concurrency %s: exit code 2, and nothing is renewed", async (concurrency) => {
  const ran = await run(["renew-due", "--concurrency", concurrency, "--client", await awayModule()]);
  expect(ran).toMatchObject({ exitCode: 2, stdout: "" });
  expect(ran.stderr).toMatch(/concurrency must be a whole number from 1 to 1000\nTry /);
});

describe("--issued-before", () => {
  const minute = 60_000;

  /** Retailers that logged in a minute apart, the first an hour ago, at a sandbox whose clock the command shares. */
  async function leaked(count: number, lifetimeMs = 24 * HOUR) {
    let now = NOON - HOUR;
    const sandbox = await startSandbox({ clock: () => now, lifetimeMs, approved: true, stores: count });
    const store = memoryStore();
    const { baseUrl, authUrl, application } = sandbox;
    const client = retailPos({ baseUrl, authUrl, ...application, store, clock: () => now });
    const names = sandbox.stores.map(({ domainPrefix }) => domainPrefix);
    for (const name of names) {
      const code = sandbox.approve(name).searchParams.get("code") as string;
      await client.connect(await client.exchange(name, code));
      now += minute;
    }
    now = NOON;
    const module = await moduleOf({ client });
    const renewDue = (instant: string, ...more: string[]) =>
      run(["renew-due", "--issued-before", instant, "--client", module, ...more], { clock: () => now });
    return { sandbox, store, names, renewDue, pass: (ms: number) => (now += ms) };
  }

  test("renews all tokens from before the instant, however young, and says that none is left", async () => {
    const { sandbox, renewDue } = await leaked(4);
    const third = NOON - HOUR + 2 * minute;
    expect(await renewDue(new Date(third).toISOString())).toEqual({
      exitCode: 0,
      stdout:
        "4 retailers seen\n2 of these due\n2 renewed\n0 refused: must log in again\n0 failed\n" +
        "0 renewed meanwhile by another process\n0 left to renew\n",
      stderr: "",
    });
    const { stdout } = await renewDue(String(third), "--json");
    expect(JSON.parse(stdout)).toMatchObject({ seen: 4, due: 0, renewed: 0, issuedBefore: third, left: 0 });
    expect(sandbox.tokenRequests()).toHaveLength(4 + 2);
    await sandbox.close();
  });

  test("says how many are left if some failed, and a repeated run renews only these", async () => {
    // A refusal is a verdict once the token has ended.
    const { sandbox, names, renewDue, pass } = await leaked(3, HOUR / 2);
    const fault = sandbox.fault(500, { domainPrefix: names[1] as string });
    sandbox.refuse(names[2] as string);
    const first = await renewDue("2030-06-15T12:00");
    expect(fault.hits).toBe(1);
    expect(first.exitCode).toBe(1);
    expect(first.stdout).toMatch(/1 renewed\n.*1 refused.*\n1 failed\n.*\n1 left to renew\n$/s);
    const instant = new Date(NOON).toISOString();
    expect(first.stderr).toBe(
      `1 left: the next run renews only these: run it with --issued-before ${instant}.\n`,
    );
    pass(minute);
    const again = await renewDue(instant);
    expect(again.stdout).toMatch(/2 of these due\n1 renewed\n1 refused.*\n0 failed\n.*\n0 left to renew\n$/s);
    expect(again).toMatchObject({ exitCode: 0, stderr: "" });
    await sandbox.close();
  });

  test("an instant ahead is taken for now, so that no new tokens are left over", async () => {
    const { sandbox, renewDue } = await leaked(2);
    const { exitCode, stdout } = await renewDue("2031-01-01");
    expect({ exitCode, stdout }).toEqual({
      exitCode: 0,
      stdout: expect.stringMatching(/\n0 left to renew\n$/),
    });
    expect(sandbox.tokenRequests()).toHaveLength(2 + 2);
    await sandbox.close();
  });

  test.each([
    ["a word", "yesterday"],
    ["a day that there is not", "2030-02-30"],
    ["a month that there is not", "2030-13-01"],
    ["an hour that there is not", "2030-06-15T25:00"],
    ["seconds for milliseconds", "1907668800"],
    ["a length of time", "1h"],
    ["nothing", ""],
  ])("%s: exit code 2, a message that says what it takes, and nothing is renewed", async (_, instant) => {
    const ran = await run(["renew-due", "--issued-before", instant, "--client", await awayModule()], {
      clock,
    });
    expect(ran).toMatchObject({ exitCode: 2, stdout: "" });
    expect(ran.stderr).toMatch(/--issued-before must be an instant: 2026-01-31, .* \(13 digits\)\nTry /);
  });

  test("together with --within: exit code 2", async () => {
    const args = ["renew-due", "--within", "1h", "--issued-before", "2030-06-15"];
    const ran = await run([...args, "--client", await awayModule()], { clock });
    expect(ran).toMatchObject({ exitCode: 2, stdout: "" });
    expect(ran.stderr).toContain("--within and --issued-before ask for different tokens: give one of them\n");
  });

  test("stopped, it says that the next run renews what is left, and with which instant", async () => {
    const stop = AbortSignal.abort();
    const args = ["renew-due", "--issued-before", "2030-06-15T00:00Z", "--client", await awayModule()];
    const ran = await run(args, { clock, signal: stop });
    expect(ran.exitCode).toBe(1);
    expect(ran.stderr).toMatch(/stopped before the end/i);
  });
});
