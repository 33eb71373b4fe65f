import { contestant } from "../../contestants/index.mjs";
import { answering } from "../../lib/process.mjs";
import { APPLICATION, tokenServiceAt } from "../../lib/service.mjs";

const WARM_UP = "other-store";

answering(async ({ file, address, retailer, callers }) => {
  const service = tokenServiceAt(address);
  const issued = await service.issue([retailer, WARM_UP], -1);
  const tokens = new Map(issued.map(({ retailer, ...held }) => [retailer, held]));
  const { bearer } = file === "floor" ? plainFetch(service, tokens) : await made(file, service, tokens);
  await bearer(WARM_UP); // the code is loaded and a connection open; the floor's too

  const startedAt = performance.now();
  const asked = await Promise.allSettled(
    Array.from({ length: file === "floor" ? 1 : callers }, () => bearer(retailer)),
  );
  const tookMs = performance.now() - startedAt;

  const served = asked.filter(({ status }) => status === "fulfilled");
  return { tookMs, served: served.length, values: [...new Set(served.map(({ value }) => value))] };
});

async function made(file, { baseUrl, tokenUrl }, tokens) {
  return (await contestant(file)).create({ ...APPLICATION, baseUrl, tokenUrl, tokens });
}

/** The floor: the one token request that has to be made, and nothing around it. */
function plainFetch({ tokenUrl }, tokens) {
  return {
    async bearer(retailer) {
      const response = await fetch(tokenUrl(retailer), {
        method: "POST",
        body: new URLSearchParams({
          grant_type: "refresh_token",
          refresh_token: tokens.get(retailer).refreshToken,
          client_id: APPLICATION.clientId,
          client_secret: APPLICATION.clientSecret,
        }),
      });
      return (await response.json()).access_token;
    },
  };
}
