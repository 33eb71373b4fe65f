import { randomBytes } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { Readable } from "node:stream";
import { createGzip } from "node:zlib";
import { Agent } from "undici";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type ApiServer, apiServer } from "../testing/api-server.js";
import { type RetailFetch, RetailFetchError, retailFetch } from "./index.js";

// How far an answer may be ahead of its reader. In which ways an answer may have no end is in
// test/stores-on-hosts.long.test.ts.

const MIB = 1024 * 1024;
const piece = randomBytes(MIB); // as long as before when it is packed

let api: ApiServer;
let fetch: RetailFetch;
let fed: ServerResponse;

beforeEach(async () => {
  fetch = retailFetch({ perHost: 2 });
  api = await apiServer(answer);
});
afterEach(async () => {
  await fetch.close();
  await api.close();
});

function answer({ url, method }: IncomingMessage, response: ServerResponse): void {
  if (url === "/endless" || method === "POST") void endless().pipe(response);
  else if (url === "/packed") packed(response);
  else if (url === "/fed") fed = response.writeHead(200).on("error", () => {});
  else response.end(Buffer.alloc(Number(url?.slice(1)) * MIB, "x"));
  response.flushHeaders();
}

function endless(): Readable {
  return Readable.from(
    (function* () {
      for (;;) yield piece;
    })(),
  );
}

function packed(response: ServerResponse): void {
  response.setHeader("content-encoding", "gzip");
  endless()
    .pipe(createGzip({ level: 1 }))
    .pipe(response);
}

/** Nothing comes any more. */
const allCame = () => expect.poll(() => api.underWay).toBe(0);
const failure = (reading: Promise<unknown>): Promise<Error> =>
  reading.then(
    () => new Error("it was read"),
    (error) => error,
  );

test("an answer of 16 MiB may be read late, and holds nobody up meanwhile", async () => {
  const answers = [await fetch(`${api.origin}/16`), await fetch(`${api.origin}/16`)];
  await allCame();
  expect(await (await fetch(`${api.origin}/1`)).text()).toHaveLength(MIB);
  for (const late of answers) expect(await late.text()).toHaveLength(16 * MIB);
});

// The last part of a shorter one may be on its way when its reader begins.
test.each(["/endless", "/packed", "/64", "/api/1.0/token"])(
  "one that is further ahead fails, and no other: %s",
  async (path) => {
    const init = { method: path.endsWith("token") ? "POST" : "GET" };
    const other = await fetch(`${api.origin}/15`);
    const long = await fetch(api.origin + path, init);
    await allCame(); // the host was told: its connection has ended
    const error = await failure(long.text());
    expect(error).toMatchObject({ name: "TypeError", message: "terminated" });
    expect(error.cause).toBeInstanceOf(RetailFetchError);
    expect(error.cause).toMatchObject({
      name: "RetailFetchError",
      code: "answer_too_large",
      host: new URL(api.origin).host,
      message: expect.stringMatching(
        /16 MiB ahead of its reader: read it as it comes, or bring a dispatcher$/,
      ),
    });
    expect(await other.text()).toHaveLength(15 * MIB);
    expect(await (await fetch(`${api.origin}/1`)).text()).toHaveLength(MIB);
  },
);

test("whatever reads it later rejects", async () => {
  const ways: ((answer: Response) => Promise<unknown>)[] = [
    (it) => it.arrayBuffer(),
    (it) => it.blob(),
    (it) => it.json(),
    (it) => it.clone().text(),
    (it) => it.body?.getReader().read() as Promise<unknown>,
    (it) => Readable.fromWeb(it.body as never).toArray(),
  ];
  for (const read of ways) {
    const long = await fetch(`${api.origin}/64`);
    await allCame();
    expect((await failure(read(long))).cause).toMatchObject({ code: "answer_too_large" });
  }
});

test("a reader who is never so far behind may read any length", async () => {
  const answered = await fetch(`${api.origin}/fed`);
  const reader = (answered.body as NonNullable<typeof answered.body>).getReader();
  const feed = (mib: number) => {
    for (let fedNow = 0; fedNow < mib; fedNow += 1) fed.write(piece);
  };
  let read = 0;
  feed(12); // so far behind from now on
  for (let round = 1; round <= 30; round += 1) {
    while (read < round * MIB) read += (await reader.read()).value?.length ?? Number.NaN;
    feed(1);
    await new Promise((resolve) => fed.write("", resolve));
  }
  fed.end();
  for (let part = await reader.read(); !part.done; part = await reader.read()) read += part.value.length;
  expect(read).toBe(42 * MIB);
});

test("close() does not wait for a reader: the answer comes, or fails", async () => {
  const [short, long] = [await fetch(`${api.origin}/2`), await fetch(`${api.origin}/endless`)];
  await fetch.close();
  expect(await short.text()).toHaveLength(2 * MIB);
  expect((await failure(long.text())).cause).toMatchObject({ code: "answer_too_large" });
});

test("a dispatcher that the call brings along lets the host wait for the reader", async () => {
  const dispatcher = new Agent();
  const answered = await fetch(`${api.origin}/40`, { dispatcher } as unknown as RequestInit);
  for (let round = 0; round < 20; round += 1) await (await fetch(`${api.origin}/1`)).text();
  expect(api.underWay).toBe(1);
  expect(await answered.text()).toHaveLength(40 * MIB);
  await dispatcher.close();
});
