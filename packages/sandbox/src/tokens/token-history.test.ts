import { inspect } from "node:util";
import { expect, test } from "vitest";
import { readOptions } from "../options.js";
import { newService } from "../service/service-state.js";
import { virtualClock } from "../virtual-clock.js";

// The tokens and their history, as the token endpoint uses the two. console/timeline.test.ts has the whole of it.

const by = { name: "an application", port: 1234 };

test("tokens have names that count up, each kind and each store for itself", () => {
  const { login, renew, names } = startService();
  const tokens = login("harbour-coffee");
  login("harbour-coffee");
  renew("harbour-coffee", tokens);
  login("rosas-bikes");
  expect(names("harbour-coffee")).toEqual(["R1", "A1", "R2", "A2", "R3", "A3"]);
  expect(names("rosas-bikes")).toEqual(["R1", "A1"]);
});

test("a renewal ends what the service accepts no more, and nothing of another login", () => {
  const { service, login, renew } = startService();
  const first = login("harbour-coffee");
  login("harbour-coffee");
  renew("harbour-coffee", first);
  const { tokens } = service.tokens.of("harbour-coffee");
  const events = service.history.of("harbour-coffee");
  const ended = tokens.filter(({ end }) => end !== undefined);
  expect(ended).toMatchObject([
    { name: "R1", end: "renewed", replacedBy: "R3" },
    { name: "A1", end: "renewed" },
  ]);
  expect(events.at(-1)).toMatchObject({ type: "renewed", issued: ["R3", "A3"], ended: ["R1", "A1"] });
});

test("what it remembers of a store has a bound, and the newest stays", () => {
  const { service, login, renew } = startService();
  let tokens = login("harbour-coffee");
  for (let count = 0; count < 300; count += 1) tokens = renew("harbour-coffee", tokens);
  const { tokens: remembered } = service.tokens.of("harbour-coffee");
  const events = service.history.of("harbour-coffee");
  expect(remembered).toHaveLength(100);
  expect(events).toHaveLength(100);
  expect(remembered.at(-1)?.name).toBe("A301");
  expect(events.at(-1)?.issued).toEqual(["R301", "A301"]);
});

test("a live token is remembered for longer than those that have ended", () => {
  const { login, renew, names } = startService();
  login("harbour-coffee");
  let tokens = login("harbour-coffee");
  for (let count = 0; count < 100; count += 1) tokens = renew("harbour-coffee", tokens);
  expect(names("harbour-coffee")).toContain("R1");
  expect(names("harbour-coffee")).not.toContain("R2");
});

test("it holds no token and no secret, not even one that a caller has in its name", () => {
  const { service, login } = startService();
  const tokens = login("harbour-coffee");
  const { accessToken, refreshToken = "" } = tokens;
  const secrets = [accessToken, refreshToken, "canary-client-secret"];
  for (const secret of secrets) {
    service.tokens.renew("harbour-coffee", `${secret}-`, { name: `agent/${secret}`, port: 1 });
  }
  const kept = [service.tokens.of("harbour-coffee"), service.history.of("harbour-coffee")];
  const history = inspect(kept, { depth: 9 });
  for (const secret of secrets) expect(history).not.toContain(secret);
  expect(history).toContain("agent/");
});

test("a store to which nothing has happened has no history", () => {
  const { service, login } = startService();
  expect(service.history.latestStore()).toBeUndefined();
  service.tokens.called("rosas-bikes", "some-token", by);
  service.tokens.end("rosas-bikes", "expired", () => true);
  login("harbour-coffee");
  expect(service.history.of("rosas-bikes")).toEqual([]);
  expect(service.history.latestStore()).toBe("harbour-coffee");
});

function startService() {
  const service = newService(
    readOptions({ clock: virtualClock(), clientSecret: "canary-client-secret" }),
    4010,
  );
  const { tokens } = service;
  type Issued = ReturnType<typeof login>;
  const login = (domainPrefix: string) => tokens.logIn(domainPrefix, [], { ...by });
  function renew(domainPrefix: string, { refreshToken = "" }: Issued): Issued {
    const renewed = tokens.renew(domainPrefix, refreshToken, { ...by });
    if (!renewed) throw new Error("refused");
    return renewed;
  }
  const names = (domainPrefix: string) => tokens.of(domainPrefix).tokens.map(({ name }) => name);
  return { service, login, renew, names };
}
