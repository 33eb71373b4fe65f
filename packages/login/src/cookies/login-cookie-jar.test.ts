import { describe, expect, onTestFinished, test, vi } from "vitest";
import { oddBlanks } from "../../../../test/support/hostile-callbacks.js";
import { CALLBACK, SECRET, type Site, site, type WebBrowser, webBrowser } from "../../testing/site.js";

const OTHER_SECRET = "another secret of the tests, long enough too";

describe("the cookie of a login", () => {
  test.each([
    [
      "on https",
      CALLBACK,
      /^__Host-retail-pos\.[\w-]{8}\.[\w-]{16}=[\w-]+; Path=\/; Max-Age=\d+; HttpOnly; SameSite=Lax; Secure$/,
    ],
    [
      "on this machine",
      "http://localhost:3000/callback",
      /^retail-pos\.[\w-]{8}\.[\w-]{16}=[\w-]+; Path=\/; Max-Age=\d+; HttpOnly; SameSite=Lax$/,
    ],
  ])("%s", async (_, redirectUri, expected) => {
    const answer = await site({ client: { redirectUri } }).start(new Request("http://inside:8080/login"));
    expect(answer.headers.getSetCookie()).toEqual([expect.stringMatching(expected)]);
  });

  test("shows nothing of what it holds, and is another one each time", async () => {
    const [app, person] = [site(), webBrowser()];
    const back = await person.begin(app, "shop", { state: "canary-of-the-application" });
    await person.begin(app, "shop", { state: "canary-of-the-application" });
    const all = [...person.cookies.values()]
      .map((value) => atob(value.replace(/-/g, "+").replace(/_/g, "/")))
      .join();
    expect(all).not.toMatch(/canary|startedAt/);
    expect(all).not.toContain(back.searchParams.get("state"));
    expect(new Set(person.cookies.values()).size).toBe(2);
  });

  test("is that of a long state of the application's, and browsers still take it", async () => {
    const [app, person] = [site(), webBrowser()];
    await person.begin(app, "shop", { state: "x".repeat(1498) });
    const [[name, value] = ["", ""]] = person.cookies;
    expect(name.length + value.length).toBeLessThan(3_000);
  });

  test.each(["importKey", "digest"] as const)(
    "is made although the runtime has ended the first request while it waited for %s",
    async (step) => {
      const app = site();
      const ended = vi.spyOn(crypto.subtle, step).mockImplementation(() => new Promise<never>(() => {}));
      void app.start(new Request(CALLBACK));
      await expect.poll(() => ended).toHaveBeenCalled();
      ended.mockRestore();
      expect((await app.start(new Request(CALLBACK))).headers.getSetCookie()).toHaveLength(1);
    },
  );

  test("that browsers would drop for its size is a TypeError at the start", async () => {
    const redirectUri = `https://app.example.net/${"x".repeat(3_000)}`;
    await expect(site().start(new Request(CALLBACK), { redirectUri })).rejects.toThrow(/redirectUri/);
  });
});

describe("several logins of one browser", () => {
  test.each([
    ["in the order they began", [0, 1]],
    ["in the other order", [1, 0]],
  ])("that began at the same moment both finish, %s", async (_, order) => {
    const [app, person] = [site(), webBrowser()];
    const backs = await Promise.all([person.begin(app, "shop"), person.begin(app, "cafe")]);
    for (const tab of order) expect((await person.open(app.callback, backs[tab] ?? "")).status).toBe(200);
    expect(person.cookies.size).toBe(0);
  });

  test("one may begin while another finishes", async () => {
    const [app, person] = [site(), webBrowser()];
    const first = await person.begin(app, "shop");
    const [finished, second] = await Promise.all([
      person.open(app.callback, first),
      person.begin(app, "cafe"),
    ]);
    expect(finished.status).toBe(200);
    expect((await person.open(app.callback, second)).status).toBe(200);
  });

  test("keep what the application gave each of them", async () => {
    const [app, person] = [site(), webBrowser()];
    const one = await person.begin(app, "shop", { state: 1 });
    const two = await person.begin(app, "shop", { state: 2 });
    expect(await (await person.open(app.callback, two)).json()).toMatchObject({ state: 2 });
    expect(await (await person.open(app.callback, one)).json()).toMatchObject({ state: 1 });
  });

  test("are ten at most; the oldest go", async () => {
    const { app, person, backs } = await many(12);
    expect(person.cookies.size).toBe(10);
    expect((await person.open(app.callback, backs[1] ?? "")).status).toBe(403);
    for (const back of backs.slice(2)) expect((await person.open(app.callback, back)).status).toBe(200);
  });

  test("have 3,000 bytes at most; the oldest go, and the newest always stays", async () => {
    const { app, person, backs } = await many(5, "x".repeat(700));
    expect(bytesOf(person)).toBeLessThanOrEqual(3_000);
    expect(person.cookies.size).toBe(2);
    expect((await person.open(app.callback, backs[2] ?? "")).status).toBe(403);
    for (const back of backs.slice(3)) expect((await person.open(app.callback, back)).status).toBe(200);
  });

  test("those that nobody can open any more go first", async () => {
    const { app, person } = await many(9);
    const junk = [...person.cookies.keys()].map((name) => `${name.slice(0, -4)}junk`).slice(0, 3);
    for (const name of junk) person.cookies.set(name, "of-nobody");
    const back = await person.begin(app);
    for (const name of junk) expect(person.cookies.has(name)).toBe(false);
    expect((await person.open(app.callback, back)).status).toBe(200);
  });
});

describe("hundreds of cookies that are named like ours", () => {
  test.each([
    ["that cannot be opened", () => "A".repeat(100)],
    ["that are copies of a real one", (value: string) => value],
    ["that are empty", () => ""],
  ])("%s: a start opens and removes twenty at most, and disturbs no login under way", async (_, junkOf) => {
    const [app, person] = [site(), webBrowser()];
    const first = await person.begin(app);
    const [[name, value] = ["", ""]] = person.cookies;
    person.cookies.delete(name);
    for (let junk = 0; junk < 290; junk += 1)
      person.cookies.set(name.replace(/.{4}$/, String(1000 + junk)), junkOf(value));
    person.cookies.set(name, value);

    const opened = vi.spyOn(crypto.subtle, "decrypt");
    onTestFinished(() => opened.mockRestore());
    const before = person.cookies.size;
    const second = await person.begin(app, "cafe");
    expect(opened.mock.calls.length).toBeLessThanOrEqual(20);
    expect(before + 1 - person.cookies.size).toBe(20);
    for (const back of [first, second]) expect((await person.open(app.callback, back)).status).toBe(200);
  });
});

describe("a cookie without __Host-, which plain http and neighbouring hosts can plant", () => {
  const [onHttp, onHttps] = [{ redirectUri: "http://localhost:3000/callback" }, {}];
  const local = { redirectUri: "http://localhost:5000/callback" };

  test.each([
    ["sealed by a deployment on http, shown on https", onHttp, onHttps, {}, CALLBACK],
    ["sealed so for a login from this machine, shown on https", onHttp, onHttps, local, CALLBACK],
    ["of a login that comes back to this machine, shown on https", onHttps, onHttps, local, CALLBACK],
    ["the same behind a proxy that ends TLS", onHttps, onHttps, local, CALLBACK.replace("https", "http")],
    ["the same inside a network", onHttps, onHttps, local, "http://10.0.0.7:3000/callback"],
    [
      "the same by a program that gives each request an address of its own",
      onHttps,
      onHttps,
      local,
      "http://localhost/callback",
    ],
    ["the same at another port of this machine", onHttps, onHttps, local, "http://localhost:5001/callback"],
    ["of a deployment on http, shown on https", onHttp, onHttp, {}, "https://localhost:3000/callback"],
  ])("is none: %s", async (_, sealing, asked, login, address) => {
    const [theirs, ours] = [site({ client: sealing }), site({ client: asked })];
    const person = webBrowser();
    const { search } = await person.begin(theirs, "evil", login);
    expect([...person.cookies.keys()]).toEqual([expect.stringMatching(/^retail-pos\./)]);
    await expectUnknown(ours, person, new URL(address + search));
  });

  test("of an application behind a proxy that changes Host: the words say so", async () => {
    const [app, person] = [site({ client: onHttps }), webBrowser()];
    const { search } = await person.begin(app, "shop", local);
    await person.open(app.callback, `http://backend:8080/callback${search}`);
    expect(app.failures.at(-1)).toMatchObject({
      code: "state_unknown",
      message: expect.stringContaining("let the proxy pass the header Host"),
    });
    expect((await person.open(app.callback, local.redirectUri + search)).status).toBe(200);
  });

  test.each([
    ["with a login that comes back to this machine", onHttps, local, local.redirectUri],
    ["on a deployment on http", onHttp, {}, onHttp.redirectUri],
    ["on one behind a proxy with a name of its own", onHttp, {}, "http://backend:8080/callback"],
  ])("is good %s", async (_, client, login, address) => {
    const [app, person] = [site({ client }), webBrowser()];
    const { search } = await person.begin(app, "shop", login);
    expect((await person.open(app.callback, address + search)).status).toBe(200);
  });
});

describe("a cookie that is not as it was: the callback is refused with a reason, and nothing is sent:", () => {
  const changes: [name: string, change: (value: string) => string | undefined][] = [
    ["gone", () => undefined],
    ["empty", () => ""],
    ["cut", (value) => value.slice(0, -10)],
    ["cut to its first bytes", (value) => value.slice(0, 10)],
    ["longer", (value) => `${value}AAAA`],
    [
      "changed in one letter",
      (value) => value.slice(0, 30) + (value[30] === "A" ? "B" : "A") + value.slice(31),
    ],
    ["forged", () => btoa(JSON.stringify({ clientId: "the-application", logins: [] }))],
    ["no base64", () => "%%%"],
    ["of 5,000 letters", () => "A".repeat(5_000)],
    ["quoted", (value) => `"${value}"`],
  ];
  test.each(changes)("%s", async (_, change) => {
    const [app, person] = [site(), webBrowser()];
    const back = await person.begin(app);
    const [[name, value] = ["", ""]] = person.cookies;
    const changed = change(value);
    if (changed === undefined) person.cookies.delete(name);
    else person.cookies.set(name, changed);
    await expectUnknown(app, person, back);
  });

  test("the one of another login", async () => {
    const [app, person] = [site(), webBrowser()];
    const [one, two] = [await person.begin(app), await person.begin(app)];
    const [first = "", second = ""] = [...person.cookies.keys()];
    person.cookies.set(first, person.cookies.get(second) ?? "");
    await expectUnknown(app, person, one);
    expect((await person.open(app.callback, two)).status).toBe(200);
  });

  test("planted over plain http, on a site that has https", async () => {
    const [app, stranger, victim] = [site(), webBrowser(), webBrowser()];
    const back = await stranger.begin(app, "evil");
    for (const [name, value] of stranger.cookies) victim.cookies.set(name.replace("__Host-", ""), value);
    await expectUnknown(app, victim, back);
  });

  test.each(oddBlanks)("planted by a subdomain, with %s before its name", async (_, blank) => {
    const [app, stranger] = [site(), webBrowser()];
    const back = await stranger.begin(app, "evil");
    const [[name, value] = ["", ""]] = stranger.cookies;
    for (const cookie of [`${blank}${name}=${value}`, `other=1; ${blank}${name}=${value}`]) {
      expect((await app.callback(new Request(back, { headers: { cookie } }))).status).toBe(403);
      expect(app.failures.at(-1)).toMatchObject({ code: "state_unknown" });
    }
    expect(app.service.seen).toEqual([]);
  });

  test("replayed after the login was finished", async () => {
    const [app, person] = [site(), webBrowser()];
    const back = await person.begin(app);
    const copy = new Map(person.cookies);
    expect((await person.open(app.callback, back)).status).toBe(200);
    for (const [name, value] of copy) person.cookies.set(name, value);
    expect((await person.open(app.callback, back)).status).toBe(403);
    expect(app.service.seen).toHaveLength(1);
  });
});

test.each([
  ["tabs and blanks around it", (pair: string) => `other=1;\t ${pair} \t; more=2`],
  ["no blank before it", (pair: string) => `other=1;${pair}`],
  ["a text that is no pair before it", (pair: string) => `nothing; =; =x; ${pair}`],
])("one that comes back with %s is opened all the same", async (_, write) => {
  const [app, person] = [site(), webBrowser()];
  const back = await person.begin(app);
  const [[name, value] = ["", ""]] = person.cookies;
  const cookie = write(`${name}=${value}`);
  expect((await app.callback(new Request(back, { headers: { cookie } }))).status).toBe(200);
});

test("one that comes back five times is opened all the same, also if four are forged", async () => {
  const [app, person] = [site(), webBrowser()];
  const back = await person.begin(app);
  const [[name, value] = ["", ""]] = person.cookies;
  const cookie = [...Array(4).fill(`${name}=forged`), `${name}=${value}`].join("; ");
  expect((await app.callback(new Request(back, { headers: { cookie } }))).status).toBe(200);
});

describe("secrets can be changed while logins are under way:", () => {
  test("the first seals, all open", async () => {
    const [before, between] = [site(), site({ login: { secret: [OTHER_SECRET, SECRET] } })];
    const person = webBrowser();
    const back = await person.begin(before);
    expect((await person.open(between.callback, back)).status).toBe(200);
    const sealedWithTheNew = await person.begin(between);
    expect(
      (await person.open(site({ login: { secret: OTHER_SECRET } }).callback, sealedWithTheNew)).status,
    ).toBe(200);
  });

  test("one that was removed opens nothing, and the message says so", async () => {
    const [before, after] = [site(), site({ login: { secret: OTHER_SECRET } })];
    const person = webBrowser();
    const back = await person.begin(before);
    await expectUnknown(after, person, back);
    expect(after.failures[0]?.message).toMatch(/cannot be opened.*secret/);
  });
});

async function expectUnknown(app: Site, person: WebBrowser, back: URL): Promise<void> {
  expect((await person.open(app.callback, back)).status).toBe(403);
  expect(app.failures).toMatchObject([{ code: "state_unknown", message: expect.stringMatching(/.{30,}/) }]);
  expect(app.service.seen).toEqual([]);
}

async function many(count: number, state?: string) {
  const [app, person, backs] = [site(), webBrowser(), [] as URL[]];
  for (let login = 0; login < count; login += 1) {
    app.time.now += 1_000;
    backs.push(await person.begin(app, `shop-${login}`, { state }));
  }
  return { app, person, backs };
}

function bytesOf({ cookies }: WebBrowser): number {
  return [...cookies].reduce((sum, [name, value]) => sum + name.length + value.length, 0);
}
