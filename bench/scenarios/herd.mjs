import { contestant, RENEWING } from "../contestants/index.mjs";
import { inFreshProcess } from "../lib/process.mjs";
import { interleaved, least, most, ratioTo } from "../lib/rounds.mjs";
import { checkBearers, tokenService } from "../lib/service.mjs";

const WORKER = new URL("./herd/worker.mjs", import.meta.url);
const CALLERS = 1000;
const RETAILER = "corner-store";

export default {
  id: "herd",
  title: "herd: 1,000 callers want one retailer's token when it expires",
  floor: "one token request made by plain fetch, 100 ms",
  figures: {
    ratio: "time until all are served ÷ time of one token request",
    requests: "token requests",
    served: "callers served",
  },
  targets: [
    { figure: "ratio", atMost: 1.1 },
    { figure: "requests", exactly: 1 },
    { figure: "served", exactly: CALLERS },
  ],
  rounds: 15,
  quickRounds: 2,
  async run({ rounds }) {
    const service = await tokenService();
    const results = await interleaved(["floor", ...RENEWING], rounds, (file) => stampede(service, file));
    await service.close();

    const ratios = ratioTo(results, "floor", ({ tookMs }) => tookMs);
    const rows = {};
    for (const file of RENEWING) {
      const of = (figure) => results.get(file).map((result) => result[figure]);
      const served = least(of("served"));
      rows[(await contestant(file)).name] = {
        ratio: served === CALLERS ? ratios.get(file) : null, // how fast callers are turned away is no figure
        requests: most(of("requests")),
        served,
      };
    }
    return rows;
  },
};

async function stampede(service, file) {
  await service.reset();
  const { tookMs, values, served } = await inFreshProcess(WORKER, {
    file,
    address: service.address,
    retailer: RETAILER,
    callers: CALLERS,
  });
  await checkBearers(
    service,
    values.map((value) => ({ retailer: RETAILER, value })),
  );
  const requests = (await service.log()).filter(({ retailer }) => retailer === RETAILER).length;
  return { tookMs, served, requests };
}
