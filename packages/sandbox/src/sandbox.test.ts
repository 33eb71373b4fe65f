import { request } from "node:http";
import { connect } from "node:net";
import { expect, test } from "vitest";
import { startClient } from "../testing/client.js";
import { startSandbox } from "./index.js";

test("listens on 127.0.0.1 and says where everything is", async () => {
  const { sandbox } = await startClient();
  expect(sandbox.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
  expect(sandbox.authUrl.startsWith(sandbox.url)).toBe(true);
  expect(new URL(sandbox.baseUrl.replace("{domain_prefix}", "a")).pathname.split("/")).toContain("a");
  expect(sandbox.application.redirectUri).toMatch(/^http:/);
});

test("has six stores of its own, or as many as asked for, or those it was given", async () => {
  const own = await startClient();
  expect(own.sandbox.stores).toHaveLength(6);
  const many = await startClient({ stores: 40 });
  expect(new Set(many.sandbox.stores.map((store) => store.domainPrefix)).size).toBe(40);
  const given = await startClient({ stores: [{ domainPrefix: "mine", name: "Mine" }] });
  expect(given.sandbox.stores).toEqual([{ domainPrefix: "mine", name: "Mine" }]);
});

test("a port in use is an error that says so", async () => {
  const { sandbox } = await startClient();
  const port = Number(new URL(sandbox.url).port);
  await expect(startSandbox({ port })).rejects.toThrow(`Port ${port} is in use`);
});

test("close ends everything, also answers that never come and open event streams, and may be called again", async () => {
  const client = await startClient();
  const events = await fetch(`${client.sandbox.url}/console/events`);
  const silence = client.sandbox.fault("silence");
  const pending = client.post({}).then(
    () => "answered",
    () => "ended",
  );
  await silence.struck;
  await Promise.all([client.sandbox.close(), client.sandbox.close()]);
  await client.sandbox.close();
  expect(await pending).toBe("ended");
  await expect(events.text()).rejects.toThrow();
  await expect(fetch(client.sandbox.url)).rejects.toThrow();
});

test("naming a store that is not there is a TypeError that names those that are", async () => {
  const { sandbox } = await startClient();
  for (const call of [
    () => sandbox.approve("nobody"),
    () => sandbox.expire("nobody"),
    () => sandbox.refuse("nobody"),
    () => sandbox.limit("nobody", 1),
    () => sandbox.fault(500, { domainPrefix: "nobody" }),
    () => sandbox.clearFaults("nobody"),
    () => sandbox.accepts("nobody", "a"),
    () => sandbox.tokenRequests("nobody"),
    () => sandbox.createPersonalToken("nobody"),
  ]) {
    expect(call).toThrow(TypeError);
    expect(call).toThrow(/harbour-coffee/);
  }
});

test.each([
  ["evil.example", 421],
  ["127.0.0.1.evil.example:80", 421],
  ["localhost@evil.example", 421],
])("a request for the host %j is refused: it may be another site's page", async (host, status) => {
  const { sandbox } = await startClient();
  expect(await statusFor(sandbox.url, host)).toBe(status);
});

test("a request for localhost is answered", async () => {
  const { sandbox } = await startClient();
  expect(await statusFor(sandbox.url, `localhost:${new URL(sandbox.url).port}`)).toBe(200);
});

test("a client that leaves in the middle of its request disturbs nobody", async () => {
  const { sandbox, login, store } = await startClient();
  const { port } = new URL(sandbox.url);
  await new Promise<void>((resolve) => {
    const socket = connect(Number(port), "127.0.0.1", () => {
      socket.write(
        `POST /stores/${store}/api/1.0/token HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\nhalf`,
      );
      socket.destroy();
    });
    socket.on("close", () => resolve());
  });
  expect((await login()).access_token).toBeTruthy();
});

test("an address nobody knows is a 404", async () => {
  const { sandbox } = await startClient();
  const nowhere = await fetch(`${sandbox.url}/nowhere`);
  expect([nowhere.status, await nowhere.text()]).toEqual([404, expect.stringContaining('<a href="/">')]);
});

function statusFor(url: string, host: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    request(url, { headers: { host } }, (response) => {
      response.resume();
      resolve(response.statusCode);
    })
      .on("error", reject)
      .end();
  });
}
