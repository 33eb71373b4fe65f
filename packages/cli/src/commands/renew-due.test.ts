import { memoryStore, type RetailPosEvent, retailPos } from "@retail-pos/core";
import { expect, test } from "vitest";
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
