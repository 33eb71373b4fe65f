import { expect, test, vi } from "vitest";
import { fakeService, start } from "../../testing/fake-service.js";

test("what waits for no time settles although a test has replaced the timers since core was loaded", async () => {
  const { pos, login } = start({}, fakeService());
  await login();
  vi.useFakeTimers();
  try {
    expect((await pos.exchange("shop", "code")).domainPrefix).toBe("shop");
    expect(await pos.renewDue()).toMatchObject({ seen: 1 });
    const all = [];
    for await (const { domainPrefix } of pos.retailers()) all.push(domainPrefix);
    expect(all).toEqual(["shop"]);
    expect(await pos.claim("key", 1000)).toBe(true);
  } finally {
    vi.useRealTimers();
  }
});
