import { type DomainPrefix, parseDomainPrefix } from "@retail-pos/core";
import { expect, test } from "vitest";
import { forEachRetailer } from "./fleet.js";

const MANY = 2_000_000;

test("a signal is seen while stores answer without waiting", async () => {
  const stop = new AbortController();
  setTimeout(() => stop.abort(), 20);
  let worked = 0;
  const ended = forEachRetailer(retailers(), stop.signal, async () => {
    worked += 1;
  });
  await expect(ended).rejects.toThrow("This operation was aborted");
  expect(worked).toBeGreaterThan(0);
  expect(worked).toBeLessThan(MANY);
});

async function* retailers(): AsyncGenerator<{ domainPrefix: DomainPrefix }> {
  const domainPrefix = parseDomainPrefix("shop");
  for (let each = 0; each < MANY; each += 1) yield { domainPrefix };
}
