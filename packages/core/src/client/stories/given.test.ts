import { Readable } from "node:stream";
import { describe, expect, test, vi } from "vitest";
import { shop } from "../../../testing/retailer-client.js";
import { NotConnectedError } from "../../vocabulary/errors.js";

// What a caller gives to fetch is read when it is called, as the platform reads it, and let go if it is not sent.

describe("what is changed after the call was made changes neither the call nor its second try:", () => {
  const rows: Record<string, () => { init: RequestInit; change: () => void; sent: string }> = {
    Headers: () => {
      const headers = new Headers({ "x-mark": "first" });
      return { init: { headers }, change: () => headers.set("x-mark", "second"), sent: "first " };
    },
    "headers in an object": () => {
      const headers: Record<string, string> = { "x-mark": "first" };
      const change = () => {
        headers["x-mark"] = "second";
      };
      return { init: { headers }, change, sent: "first " };
    },
    URLSearchParams: () => {
      const body = new URLSearchParams({ n: "1" });
      return { init: { method: "POST", body }, change: () => body.set("n", "2"), sent: " n=1" };
    },
    "a Uint8Array": () => {
      const body = new Uint8Array([49]);
      return { init: { method: "POST", body }, change: () => body.fill(50), sent: " 1" };
    },
    "an ArrayBuffer": () => {
      const bytes = new Uint8Array([49]);
      const init = { method: "POST", body: bytes.buffer };
      return { init, change: () => bytes.fill(50), sent: " 1" };
    },
  };

  for (const [name, given] of Object.entries(rows)) {
    test(name, async () => {
      const { client, seen } = await shop({ accepts: "access-2" });
      const { init, change, sent } = given();
      const call = client.fetch("/api/sales", init);
      change();
      expect((await call).status).toBe(200);
      expect(seen.map(({ headers, body }) => `${headers["x-mark"] ?? ""} ${body}`)).toEqual([sent, sent]);
    });
  }

  test("FormData", async () => {
    const { client, seen } = await shop({ accepts: "access-2" });
    const body = new FormData();
    body.set("n", "first");
    const call = client.fetch("/api/sales", { method: "POST", body });
    body.set("n", "second");
    expect((await call).status).toBe(200);
    expect(seen).toHaveLength(2);
    for (const sent of seen) expect(sent.body).toMatch(/first/);
    for (const sent of seen) expect(sent.body).not.toMatch(/second/);
  });

  test("the headers of a Request", async () => {
    const { client, seen } = await shop({ accepts: "access-2" });
    const request = new Request(`${client.baseUrl}/api/sales`, { headers: { "x-mark": "first" } });
    const call = client.fetch(request);
    request.headers.set("x-mark", "second");
    expect((await call).status).toBe(200);
    expect(seen.map(({ headers }) => headers["x-mark"])).toEqual(["first", "first"]);
  });
});

describe("the body of a call that is not sent is ended:", () => {
  type Post = (path: string, signal?: AbortSignal) => Promise<unknown>;
  const ways: Record<string, { whose?: string; fail: (post: Post) => Promise<unknown>; error: unknown }> = {
    "not connected": {
      whose: "nobody",
      fail: (post) => post("api/sales"),
      error: expect.any(NotConnectedError),
    },
    aborted: {
      fail: (post) => post("api/sales", AbortSignal.abort(new Error("enough"))),
      error: new Error("enough"),
    },
    "outside baseUrl": { fail: (post) => post("../elsewhere"), error: expect.any(TypeError) },
  };

  for (const [name, { whose = "shop", fail, error }] of Object.entries(ways)) {
    const clientOf = async () => (await shop()).pos.retailer(whose);

    test(`a stream, ${name}`, async () => {
      const client = await clientOf();
      const cancel = vi.fn();
      const body = new ReadableStream({ cancel });
      const post: Post = (path, signal) =>
        client.fetch(path, {
          method: "POST",
          body,
          duplex: "half",
          ...(signal && { signal }),
        } as RequestInit);
      expect(await fail(post).catch((caught) => caught)).toEqual(error);
      expect(cancel).toHaveBeenCalledOnce();
    });

    test(`one of Node's streams, ${name}`, async () => {
      const client = await clientOf();
      const body = new Readable({ read() {} });
      const init = { method: "POST", body, duplex: "half" } as unknown as RequestInit;
      const post: Post = (path, signal) => client.fetch(path, signal ? { ...init, signal } : init);
      expect(await fail(post).catch((caught) => caught)).toEqual(error);
      expect(body.destroyed).toBe(true);
    });

    test(`a Request's stream, ${name}`, async () => {
      const client = await clientOf();
      const cancel = vi.fn();
      const init = { method: "POST", body: new ReadableStream({ cancel }), duplex: "half" } as RequestInit;
      const post: Post = (path, signal) =>
        client.fetch(new Request(`${client.baseUrl}/${path}`, init), signal && { signal });
      expect(await fail(post).catch((caught) => caught)).toEqual(error);
      await expect.poll(() => cancel).toHaveBeenCalledOnce();
    });
  }
});

describe("as the platform has it:", () => {
  test("a signal of null frees a Request of its own", async () => {
    const { client } = await shop();
    const request = new Request(`${client.baseUrl}/api/sales`, { signal: AbortSignal.abort() });
    expect((await client.fetch(request, { signal: null })).status).toBe(200);
  });

  test("an empty body takes the place of one that was read before", async () => {
    const { client, seen } = await shop();
    const request = new Request(`${client.baseUrl}/api/sales`, { method: "POST", body: "read" });
    await request.text();
    expect((await client.fetch(request, { body: "" })).status).toBe(200);
    expect(seen.map(({ body }) => body)).toEqual([""]);
  });
});

test.each([
  ["smaller", "8"],
  ["larger", "4000"],
  ["that of this body", "37"],
])("a Content-Length %s than the body, left from another, is not sent", async (_, length) => {
  const { client, seen } = await shop({ accepts: "access-2" });
  const body = JSON.stringify({ name: "tea", note: "added later" });
  const headers = { "content-type": "application/json", "Content-Length": length };
  expect((await client.fetch("/api/sales", { method: "POST", headers, body })).status).toBe(200);
  const request = new Request(`${client.baseUrl}/api/sales`, { method: "POST", headers });
  expect((await client.fetch(request, { body })).status).toBe(200);
  expect(seen.map((sent) => sent.body)).toEqual([body, body, body]);
});
