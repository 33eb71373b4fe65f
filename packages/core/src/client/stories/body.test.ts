import { runInNewContext } from "node:vm";
import { FormData as FormDataOfUndici, fetch as fetchOfUndici } from "undici";
import { describe, expect, test } from "vitest";
import { bytesOf, sentTwice, shop } from "../../../testing/retailer-client.js";

describe("after a 401 a body is sent again intact:", () => {
  const bytes = Uint8Array.from({ length: 100_000 }, (_, index) => index % 251);
  const rows: Array<{ name: string; make: () => NonNullable<RequestInit["body"]> }> = [
    { name: "a text", make: () => '{"name":"чай"}' },
    { name: "an empty text", make: () => "" },
    { name: "URLSearchParams", make: () => new URLSearchParams({ name: "tea & milk", size: "é" }) },
    { name: "a Blob", make: () => new Blob([bytes, "tail"], { type: "image/png" }) },
    { name: "a Uint8Array", make: () => bytes },
    { name: "a part of a larger buffer", make: () => bytes.subarray(10, 20) },
    { name: "a Buffer", make: () => Buffer.from("чай") },
    { name: "an ArrayBuffer", make: () => bytes.buffer },
    { name: "a DataView", make: () => new DataView(bytes.buffer, 5, 10) },
  ];
  for (const { name, make } of rows) {
    test(name, async () => {
      const { client, seen } = await shop({ accepts: "access-2" });
      expect((await client.fetch("/api/products", { method: "POST", body: make() })).status).toBe(200);
      await sentTwice(seen, make());
    });

    test(`${name} in a Request`, async () => {
      const { client, seen } = await shop({ accepts: "access-2" });
      const request = new Request(`${client.baseUrl}/api/products`, { method: "POST", body: make() });
      expect((await client.fetch(request)).status).toBe(200);
      await sentTwice(seen, make());
    });

    test(`${name} in place of a Request's own`, async () => {
      const { client, seen } = await shop({ accepts: "access-2" });
      const request = new Request(`${client.baseUrl}/api/products`, { method: "POST", body: "other" });
      expect((await client.fetch(request, { body: make() })).status).toBe(200);
      expect(seen.map(({ raw }) => raw)).toEqual(Array(2).fill(await bytesOf(make())));
    });
  }

  for (const { name, make } of rows) {
    test(`${name} in place of a Request's own, which said no type: with the type that the platform gives it`, async () => {
      const { client, seen } = await shop({ accepts: "access-2" });
      const url = `${client.baseUrl}/api/products`;
      const request = new Request(url, { method: "POST" });
      expect((await client.fetch(request, { body: make() })).status).toBe(200);
      const type =
        new Request(url, { method: "POST", body: make() }).headers.get("content-type") ?? undefined;
      expect(seen.map(({ headers }) => headers["content-type"])).toEqual([type, type]);
    });
  }

  test("FormData, with files and a boundary that fits", async () => {
    for (const inRequest of [false, true]) {
      const { client, seen } = await shop({ accepts: "access-2" });
      const form = new FormData();
      form.append("name", "чай");
      form.append("picture", new Blob([bytes], { type: "image/png" }), "tea.png");
      const init = { method: "POST", body: form };
      const url = `${client.baseUrl}/api/products`;
      const response = inRequest ? client.fetch(new Request(url, init)) : client.fetch("/api/products", init);
      expect((await response).status).toBe(200);
      expect(seen).toHaveLength(2);
      for (const { raw, headers } of seen) {
        const type = { headers: { "content-type": headers["content-type"] ?? "" } };
        const received = await new Response(new Uint8Array(raw), type).formData();
        expect(received.get("name")).toBe("чай");
        expect(new Uint8Array(await (received.get("picture") as File).arrayBuffer())).toEqual(bytes);
      }
    }
  });

  const platform = globalThis.fetch;
  const undici = fetchOfUndici as unknown as typeof globalThis.fetch;
  test.each([
    { of: "npm's undici", Form: FormDataOfUndici, through: "the platform's fetch", fetch: platform },
    { of: "npm's undici", Form: FormDataOfUndici, through: "npm's", fetch: undici },
    { of: "the platform", Form: FormData, through: "npm's", fetch: undici },
  ])("FormData of $of, as it was at the call, through $through", async ({ Form, fetch }) => {
    const { client, seen } = await shop({ accepts: "access-2", options: { fetch } });
    const form = new Form();
    form.append("name", "чай");
    form.append("picture", new Blob([bytes], { type: "image/png" }), "tea.png");
    const calling = client.fetch("/api/products", { method: "POST", body: form as unknown as FormData });
    form.set("name", "changed");
    expect((await calling).status).toBe(200);
    expect(seen).toHaveLength(2);
    for (const { raw, headers } of seen) {
      expect(headers["content-length"]).toBe(`${raw.length}`);
      const type = { headers: { "content-type": headers["content-type"] ?? "" } };
      const received = await new Response(new Uint8Array(raw), type).formData();
      expect(received.get("name")).toBe("чай");
      const picture = received.get("picture") as File;
      expect([picture.name, picture.type]).toEqual(["tea.png", "image/png"]);
      expect(new Uint8Array(await picture.arrayBuffer())).toEqual(bytes);
    }
  });

  const FOREIGN = [
    ["an ArrayBuffer", "bytes.buffer"],
    ["a Uint8Array", "bytes"],
    ["a DataView", "new DataView(bytes.buffer, 1, 2)"],
  ] as const;
  for (const [name, expression] of FOREIGN) {
    test(`${name} of another realm, as it was at the call`, async () => {
      const { client, seen } = await shop({ accepts: "access-2" });
      const script = `const bytes = Uint8Array.of(116, 101, 97); ({ bytes, body: ${expression} })`;
      const foreign = runInNewContext(script) as { bytes: Uint8Array; body: ArrayBuffer };
      const sent = [...new Uint8Array(await new Response(foreign.body).arrayBuffer())];
      const calling = client.fetch("/api/products", { method: "POST", body: foreign.body });
      foreign.bytes.fill(0);
      expect((await calling).status).toBe(200);
      expect(seen.map(({ raw }) => [...raw])).toEqual([sent, sent]);
    });
  }

  test("none, as a GET has it, in a Request too", async () => {
    for (const method of ["GET", "HEAD", "DELETE"]) {
      const { client, seen } = await shop({ accepts: "access-2" });
      const request = new Request(`${client.baseUrl}/api/products`, { method });
      expect((await client.fetch(request)).status).toBe(200);
      expect(seen.map((one) => [one.method, one.raw.length])).toEqual([
        [method, 0],
        [method, 0],
      ]);
    }
  });

  test("null", async () => {
    const { client, seen } = await shop({ accepts: "access-2" });
    expect((await client.fetch("/api/products", { method: "POST", body: null })).status).toBe(200);
    expect(seen).toHaveLength(2);
  });
});

describe("a stream cannot be sent again:", () => {
  const rows: Array<{ name: string; make: () => unknown }> = [
    { name: "a ReadableStream", make: () => new Blob(["te", "a"]).stream() },
    {
      name: "an async iterable",
      make: async function* () {
        yield Buffer.from("tea");
      },
    },
  ];
  for (const { name, make } of rows) {
    test(`after a 401, ${name} is not retried; the next call finds a good token`, async () => {
      const { client, renewals, seen } = await shop({ accepts: "access-2" });
      const init = { method: "POST", body: make(), duplex: "half" } as RequestInit;
      const response = await client.fetch("/api/products", init);
      expect([response.status, await response.text()]).toEqual([401, "no"]);
      expect(seen.map(({ body }) => body)).toEqual(["tea"]);
      expect((await client.fetch("/api/products")).status).toBe(200);
      expect(renewals()).toBe(1);
      expect(seen).toHaveLength(2);
    });
  }

  test("and is sent as it is where there is no 401", async () => {
    const { client, seen } = await shop();
    const init = { method: "POST", body: new Blob(["tea"]).stream(), duplex: "half" } as RequestInit;
    expect((await client.fetch("/api/products", init)).status).toBe(200);
    expect(seen[0]?.body).toBe("tea");
  });

  test("a Request that was read before is an error, not a call without its body", async () => {
    const { client, seen } = await shop();
    const request = new Request(`${client.baseUrl}/api/products`, { method: "POST", body: "tea" });
    await request.text();
    await expect(client.fetch(request)).rejects.toThrow(TypeError);
    expect(seen).toEqual([]);
  });
});

test("a stream in a Request is let go if the call fails", async () => {
  const failing: typeof globalThis.fetch = async (input, init) => {
    if (!(input instanceof Request)) return globalThis.fetch(input, init);
    input.body?.cancel().catch(() => {}); // as a platform does that gives up a call
    throw new Error("the network failed");
  };
  const { client } = await shop({ options: { fetch: failing } });
  let isLetGo = false;
  const body = new ReadableStream<Uint8Array>({
    cancel() {
      isLetGo = true;
    },
  });
  const init = { method: "POST", body, duplex: "half" } as RequestInit;
  const call = client.fetch(new Request(`${client.baseUrl}/api/products`, init));
  await expect(call).rejects.toThrow("the network failed");
  await expect.poll(() => isLetGo).toBe(true);
});

describe("an answer that comes before the body was read is returned at once:", () => {
  test("to a Request with a large body", async () => {
    const { client } = await shop({
      reads: false,
      api: (_, response) => response.writeHead(413).end("too large"),
    });
    const body = new Blob([new Uint8Array(30_000_000)]);
    const request = new Request(`${client.baseUrl}/api/products`, { method: "POST", body });
    const outcome = client.fetch(request).then(
      ({ status }) => status,
      ({ name }: Error) => name,
    );
    expect([413, "TypeError"]).toContain(await outcome); // the connection may break before the answer is seen
  });

  test("to a Request whose body is still being written", async () => {
    const { client } = await shop({
      reads: false,
      api: (_, response) => response.writeHead(202).end("early"),
    });
    let writer: ReadableStreamDefaultController<Uint8Array> | undefined;
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        writer = controller;
        controller.enqueue(Buffer.from("first"));
      },
    });
    const init = { method: "POST", body, duplex: "half" } as RequestInit;
    const response = await client.fetch(new Request(`${client.baseUrl}/api/products`, init));
    expect([response.status, await response.text()]).toEqual([202, "early"]);
    writer?.close();
  });
});
