import { join } from "node:path";
import { expect, test } from "vitest";
import { browser } from "./support/browser.js";
import { startCommand } from "./support/command.js";
import { freePort } from "./support/listen.js";
import { root } from "./support/sources.js";

// The first command of the README, as far as its login page and the consent page behind it.

test("the demo says what to open, leads to the consent page, and ends with Ctrl-C", async () => {
  const [app, service] = [await freePort(), await freePort()];
  const env = { PORT: String(app), SANDBOX_PORT: String(service) };
  const demo = startCommand(join(root, "scripts/demo.mjs"), [], { env, cwd: root });
  const open = demo.printed(/Ctrl-C ends both/);
  await Promise.race([open, demo.ended.then(() => Promise.reject(new Error(demo.output())))]);

  const visitor = browser();
  expect((await visitor.open(`http://localhost:${app}/`)).body).toContain("Log in with store");
  const start = await visitor.open(`http://localhost:${app}/auth/retail-pos`);
  expect(start.location).toContain(`:${service}/connect?`);
  expect((await visitor.open(start.location)).body).toContain("Approve");

  demo.child.kill("SIGINT");
  expect(await demo.ended).toBe(0);
});
