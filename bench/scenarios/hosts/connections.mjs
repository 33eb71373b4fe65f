// What a host sees: three calls five seconds apart, and a thousand at once.
import { answering } from "../../lib/process.mjs";
import { callers } from "./callers.mjs";
import { prefixOf, templateAt } from "./lookup.mjs";

const APART_MS = 5000;

answering(async ({ caller, port, story }) => {
  const call = await callers[caller](templateAt(port));
  if (story === "burst") {
    await Promise.all(Array.from({ length: 1000 }, () => call(prefixOf(0), "/api/products")));
    return;
  }
  for (const last of [false, false, true]) {
    await call(prefixOf(0), "/api/products");
    if (!last) await new Promise((resolve) => setTimeout(resolve, APART_MS));
  }
});
