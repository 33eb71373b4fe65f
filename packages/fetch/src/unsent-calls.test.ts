import type { ServerResponse } from "node:http";
import { Readable } from "node:stream";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { type ApiServer, apiServer } from "../testing/api-server.js";
import { type RetailFetch, retailFetch } from "./index.js";

// Calls that do not reach their host: what stays of them must not harm those that come after.

let api: ApiServer;
let fetch: RetailFetch;
let held: ServerResponse | undefined;

beforeEach(async () => {
  held = undefined;
  api = await apiServer((request, response) => {
    if (request.url === "/held") held = response;
    else response.end("ok");
  });
  fetch = retailFetch({ perHost: 1 });
});
afterEach(async () => {
  await api.close();
  await fetch.close();
});

const text = async (answered: Promise<Response>) => (await answered).text();
const failure = (call: Promise<unknown>): Promise<Error> =>
  call.then(
    () => new Error("it was sent"),
    (error) => error,
  );

/** A call has the one connection; the next ones wait. */
async function occupied(): Promise<{ free: () => Promise<unknown> }> {
  const call = text(fetch(`${api.origin}/held`));
  await expect.poll(() => held).toBeDefined();
  const free = () => {
    held?.end("held");
    return call;
  };
  return { free };
}

describe("the body of a call that is not sent is ended:", () => {
  const ways: Record<string, (post: (signal?: AbortSignal) => Promise<Response>) => Promise<Error>> = {
    "aborted before": (post) => failure(post(AbortSignal.abort(new Error("enough")))),
    async "aborted in the queue"(post) {
      const { free } = await occupied();
      const controller = new AbortController();
      const call = failure(post(controller.signal));
      controller.abort(new Error("enough"));
      await free();
      return call;
    },
    async "dismissed by close()"(post) {
      const { free } = await occupied();
      const call = failure(post());
      const closed = fetch.close();
      await free();
      await closed;
      return call;
    },
    async "made after close()"(post) {
      await fetch.close();
      return failure(post());
    },
  };

  for (const [name, fail] of Object.entries(ways)) {
    test(`a stream, ${name}`, async () => {
      const cancel = vi.fn();
      const body = new ReadableStream({ cancel });
      const error = await fail((signal) =>
        fetch(api.origin, { method: "POST", body, duplex: "half", ...(signal && { signal }) } as RequestInit),
      );
      expect(error).toBeInstanceOf(Error);
      expect(cancel).toHaveBeenCalledExactlyOnceWith(error);
    });

    test(`a Request's stream, ${name}`, async () => {
      const cancel = vi.fn();
      const body = new ReadableStream({ cancel });
      const given = new Request(api.origin, { method: "POST", body, duplex: "half" } as RequestInit);
      const error = await fail((signal) => fetch(given, signal && { signal }));
      expect(error).toBeInstanceOf(Error);
      await expect.poll(() => cancel).toHaveBeenCalledOnce();
    });

    test(`one of Node's streams, ${name}`, async () => {
      const body = new Readable({ read() {} });
      const init = { method: "POST", body, duplex: "half" };
      await fail((signal) =>
        fetch(api.origin, { ...init, ...(signal && { signal }) } as unknown as RequestInit),
      );
      expect(body.destroyed).toBe(true);
    });
  }

  test("and one that throws then does not take the place of the reason", async () => {
    const body = new Readable({ read() {} });
    body.destroy = () => {
      throw new Error("not so");
    };
    const init = { method: "POST", body, duplex: "half", signal: AbortSignal.abort(new Error("enough")) };
    await expect(fetch(api.origin, init as unknown as RequestInit)).rejects.toThrow("enough");
  });

  test("but not that of a call that is sent", async () => {
    const cancel = vi.fn();
    const pull = (controller: ReadableStreamDefaultController) => {
      controller.enqueue(new TextEncoder().encode("body"));
      controller.close();
    };
    const body = new ReadableStream({ pull, cancel });
    const sent = fetch(api.origin, { method: "POST", body, duplex: "half" } as RequestInit);
    expect(await text(sent)).toBe("ok");
    expect(cancel).not.toHaveBeenCalled();
  });
});
