// Renewals one after the other, over HTTP, each of another retailer; answers the CPU of one.
import { retailPos } from "@retail-pos/core";
import { tokenSet } from "../../contestants/ours.mjs";
import { answering } from "../../lib/process.mjs";
import { APPLICATION, tokenServiceAt } from "../../lib/service.mjs";
import { engines } from "./populations.mjs";

const WARM_UP = 200;
const RENEWALS = 500;

answering(async ({ engine, address }) => {
  const service = tokenServiceAt(address);
  const retailers = Array.from({ length: WARM_UP + RENEWALS }, (_, n) => `retailer-${n}`);
  const issued = await service.issue(retailers, -1);
  if (engine === "fetch") return measured((n) => plain(service, issued[n]));

  const population = await engines[engine](`bench_growth_${process.pid}`);
  try {
    const { store, lock } = population.tokens;
    for (const tokens of issued) await store.save(tokenSet(tokens.retailer, tokens));
    const pos = retailPos({
      ...APPLICATION,
      authUrl: address,
      baseUrl: service.baseUrl,
      store,
      lock,
    });
    return await measured((n) => pos.tokens(retailers[n]).token());
  } finally {
    await population.remove();
    await population.close();
  }
});

async function plain(service, { retailer, refreshToken }) {
  const response = await fetch(service.tokenUrl(retailer), {
    method: "POST",
    body: new URLSearchParams({
      grant_type: "refresh_token",
      refresh_token: refreshToken,
      client_id: APPLICATION.clientId,
      client_secret: APPLICATION.clientSecret,
    }),
  });
  if (!response.ok) throw new Error(`The token endpoint answered ${response.status}`);
  return response.json();
}

async function measured(renew) {
  for (let n = 0; n < WARM_UP; n += 1) await renew(n);
  const before = process.cpuUsage();
  for (let n = WARM_UP; n < WARM_UP + RENEWALS; n += 1) await renew(n);
  const { user, system } = process.cpuUsage(before);
  return (user + system) / RENEWALS;
}
