import { expect, onTestFinished, test, vi } from "vitest";
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

test.each([
  [
    "throws, as in Next's Edge Runtime",
    () => {
      throw new Error("not supported in the Edge Runtime");
    },
  ],
  ["is missing, as in browsers", undefined],
])("what waits for no time settles where setImmediate %s", async (_, setImmediate) => {
  vi.stubGlobal("setImmediate", setImmediate);
  vi.resetModules();
  onTestFinished(() => {
    vi.unstubAllGlobals();
    vi.resetModules();
  });
  const { soon } = await import("./timers.js");
  const order: number[] = [];
  for (const at of [1, 2]) soon(() => order.push(at));
  await new Promise<void>(soon);
  expect(order).toEqual([1, 2]);
});
