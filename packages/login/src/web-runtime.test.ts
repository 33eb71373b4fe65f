import { beforeAll, describe, expect, test } from "vitest";
import { inRealm, webRealm } from "../../../test/support/web-realm.js";
import { fakeService } from "../../core/testing/fake-service.js";
import type * as Everything from "../testing/everything.js";
import { APPLICATION, approval, CALLBACK, SECRET } from "../testing/site.js";

// The login where there is no Node: a realm with the web's globals and nothing else.

let there: typeof Everything;

beforeAll(async () => {
  there = await inRealm<typeof Everything>(webRealm(), "packages/login/testing/everything.ts");
});

describe("without Node", () => {
  test("webLogin logs in, refuses what is forged, and finishes a login once", async () => {
    const { service, client } = application();
    const login = there.webLogin({
      client,
      secret: SECRET,
      onLogin: ({ login: { domainPrefix }, state }) => Response.json({ domainPrefix, state }),
    });
    const sent = await login.start(new Request("https://app.example.net/login"), { state: { cart: [1] } });
    const [line = ""] = sent.headers.getSetCookie();
    const cookie = line.split(";", 1)[0] ?? "";
    const back = approval(sent.headers.get("location") ?? "", "shop");
    const forged = new URL(back);
    forged.searchParams.set("state", "x".repeat(43));
    const open = (url: URL) => login.callback(new Request(url, { headers: { cookie } }));
    expect((await open(forged)).status).toBe(403);
    const answer = await open(back);
    expect([answer.status, await answer.json()]).toEqual([
      200,
      { domainPrefix: "shop", state: { cart: [1] } },
    ]);
    expect((await open(back)).status).toBe(403);
    expect(service.seen).toHaveLength(1);
    expect(await client.tokens("shop").token()).toMatchObject({ value: "access-shop-1" });
  });

  test("loginFlow logs in, and resolves for whatever comes", async () => {
    const { service, client } = application();
    const flow = there.loginFlow({ client });
    const { url, pending } = await flow.start({ state: "own" });
    const back = approval(url, "shop");
    expect(await flow.finish("http://[", { pending })).toMatchObject({ code: "invalid_callback" });
    expect(await flow.finish(back, {})).toMatchObject({ code: "state_unknown" });
    expect(await flow.finish(back, { pending })).toMatchObject({
      ok: true,
      state: "own",
      pending: undefined,
    });
    expect(service.seen).toHaveLength(1);
  });

  test("a state that JSON cannot hold is refused, and this realm's plain objects are not", async () => {
    const flow = there.loginFlow({ client: application().client });
    await expect(flow.start({ state: new Map() })).rejects.toMatchObject({ name: "TypeError" });
    await expect(flow.start({ state: { a: [{ b: null }] } })).resolves.toHaveProperty("url");
  });
});

function application() {
  const service = fakeService();
  const client = there.retailPos({ ...APPLICATION, redirectUri: CALLBACK, fetch: service.fetch });
  return { service, client };
}
