// One of the processes: so many callers at each expiry.
import { tokenServiceAt } from "../../lib/service.mjs";
import { obeying } from "../growth/standing-process.mjs";
import { now, open } from "./contestants.mjs";

/** Past the expiry, when every process is awake. */
const MARGIN_MS = 50;

let service;
let opened;

obeying({
  async open({ kind, engine, name, address }) {
    service = tokenServiceAt(address);
    opened = await open(kind, engine, name, service);
  },
  async herd({ login, callers }) {
    // Everybody has been at work: the token is known, and a connection to the token endpoint is open.
    await opened.bearer(login.retailer, login);
    await service.log();
    const start = login.expiresAt + MARGIN_MS;
    if (now() >= start) throw new Error("Too slow a machine: the token ended before every process was ready");
    await new Promise((resolve) => setTimeout(resolve, start - now()));
    opened.steps.length = 0;
    return { ...(await herd(login.retailer, start, callers)), start, steps: opened.steps };
  },
  close: async () => opened?.close(),
});

async function herd(retailer, start, callers) {
  let lastAt = start;
  const served = await Promise.all(
    Array.from({ length: callers }, async () => {
      try {
        const value = await opened.bearer(retailer);
        lastAt = now();
        return [value];
      } catch {
        return [];
      }
    }),
  );
  const values = served.flat();
  return { tookMs: lastAt - start, served: values.length, values: [...new Set(values)] };
}
