import fc from "fast-check";
import { expect, test } from "vitest";
import { anything, holds, spoilt, unlessRefused } from "../../../test/support/fuzz.js";
import { readOptions, type SandboxOptions } from "./options.js";

const good: { [name in keyof SandboxOptions]-?: Exclude<SandboxOptions[name], undefined> } = {
  port: 0,
  rotation: "always",
  lifetimeMs: 86_400_000,
  refusesEarly: true,
  rateLimit: { limit: 300, windowMs: 300_000 },
  apiRateLimit: { limit: 350, windowMs: 60_000 },
  hostPerStore: false,
  tls: { key: "a key", cert: "a certificate" },
  scopes: ["products:read"],
  approved: false,
  clock: Date.now,
  redirectUri: "http://localhost:3000/callback",
  clientId: "an-application",
  clientSecret: "a-secret",
  stores: [{ domainPrefix: "shop", name: "Shop" }],
  products: 250,
};
const names = Object.keys(good);

test("options either make sense or are refused by a TypeError that names one of them", async () => {
  const values = fc.oneof(
    spoilt(good.rateLimit, ["limit", "windowMs"]),
    fc.array(spoilt({ domainPrefix: "shop", name: "Shop" }, ["domainPrefix", "name"]), { maxLength: 3 }),
    fc.constantFrom<unknown>("never", "sometimes", 65_535, 65_536, 999, 1000, 1001),
    fc.array(fc.constantFrom<unknown>("products:read", "a", "", " ", '"', 5), { maxLength: 3 }),
  );
  await holds(
    fc.property(spoilt(good, names, values), (options) => {
      const settings = unlessRefused(() => readOptions(options), ["options", ...names]);
      if (!settings) return;
      expect(settings.stores.length).toBeGreaterThan(0);
      for (const { domainPrefix } of settings.stores) expect(domainPrefix).toMatch(/^[a-z0-9-]{1,63}$/);
      for (const scope of settings.scopes) expect(scope).toMatch(/^[a-z:]+$/);
      expect(["always", "never", "sometimes"]).toContain(settings.rotation);
      expect(settings.rateLimit.limit * settings.rateLimit.windowMs * settings.lifetimeMs).toBeGreaterThan(0);
    }),
    2_000,
  );
});

test("anything at all makes no other error", async () => {
  await holds(
    fc.property(anything(), (options) => {
      const own = Object.keys(Object(options));
      unlessRefused(() => readOptions(options as SandboxOptions), ["options", ...names, ...own]);
    }),
    1_000,
  );
});
