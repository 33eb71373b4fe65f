import { describe, expect, test } from "vitest";
import { apiServer } from "../testing/api-server.js";
import { retailFetch } from "./index.js";

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

describe.concurrent("three calls", () => {
  test.each([
    { keepAliveMs: undefined, apartMs: 5000, host: "announces nothing", opened: 1 }, // Node's own keeps it for four
    { keepAliveMs: undefined, apartMs: 1500, host: "keeps it for three seconds", opened: 3 }, // undici deducts two
    { keepAliveMs: 1000, apartMs: 2500, host: "announces nothing", opened: 3 },
    { keepAliveMs: 0, apartMs: 0, host: "announces nothing", opened: 3 },
  ])(
    "$apartMs ms apart, keepAliveMs $keepAliveMs, of a host that $host, take $opened connections",
    async (row) => {
      const api = await apiServer((_, response) => {
        response.setHeader("connection", "keep-alive"); // given: Node adds no more
        if (row.host.startsWith("keeps")) response.setHeader("keep-alive", "timeout=3");
        response.end("ok");
      });
      const fetch = retailFetch({ keepAliveMs: row.keepAliveMs });
      for (const n of [1, 2, 3]) {
        expect(await (await fetch(`${api.origin}/?n=${n}`)).text()).toBe("ok");
        if (n < 3) await sleep(row.apartMs);
      }
      expect(api.connections).toBe(row.opened);
      await fetch.close();
      await api.close();
    },
  );
});
