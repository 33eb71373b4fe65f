import { contestant, RENEWING } from "../contestants/index.mjs";
import { startCommanded } from "../lib/process.mjs";
import { interleaved, median, ratioTo, shuffled } from "../lib/rounds.mjs";
import { tokenService } from "../lib/service.mjs";

const SERVER = new URL("./http/server.mjs", import.meta.url);
const LOAD = new URL("./http/load.mjs", import.meta.url);
const FLOOR = "next";
/** The floor once more, to see what the measuring is worth. */
const AGAIN = "next-again";
/** The least that a bearer for the handler can be: a text put on the request. */
const PROPERTY = "property";
const FILES = [FLOOR, AGAIN, PROPERTY, ...RENEWING];
const NAMES = {
  [FLOOR]: "next()",
  [AGAIN]: "next(), measured again",
  [PROPERTY]: "a property set, and nothing else",
};
const RETAILER = "corner-store";
/** Many and short, of some 25 ms: what else the machine does hits all alike. */
const SLICES = 50;
/** V8 goes on compiling for some 20,000 requests, and whoever runs more code has more to compile. */
const REQUESTS_BEFORE = 30_000;

export default [
  { framework: "express", name: "Express 5", requests: 300 },
  { framework: "koa", name: "Koa 3", requests: 1000 },
].map(({ framework, name, requests }) => ({
  id: `http-${framework}`,
  title: `http: ${name}, a token middleware before a trivial handler`,
  floor: "the same app with a middleware that only calls next()",
  figures: {
    throughput: "requests a second ÷ requests a second with an empty middleware",
    cpu: "CPU of a request ÷ CPU with an empty middleware",
  },
  targets: [
    { figure: "throughput", atLeast: 0.9 },
    { figure: "cpu", atMost: 1.1 },
  ],
  rounds: 5,
  quickRounds: 2,
  async run({ rounds, note }) {
    const service = await tokenService();
    const load = await startCommanded(LOAD);
    const shares = new Map(FILES.map((file) => [file, []]));
    try {
      for (let round = 0; round < rounds; round += 1) {
        for (const [file, share] of await oneRound(service, load, { framework, requests })) {
          shares.get(file).push(share);
        }
        note(`round ${round + 1} of ${rounds}`);
      }
    } finally {
      await load.close();
      await service.close();
    }

    const throughput = ratioTo(shares, FLOOR, ({ perSecond }) => perSecond);
    const cpu = ratioTo(shares, FLOOR, ({ cpuOfOne }) => cpuOfOne);
    const rows = {};
    for (const file of FILES) {
      rows[await nameOf(file)] = { throughput: throughput.get(file), cpu: cpu.get(file) };
    }
    return rows;
  },
}));

/** Every round has fresh processes, and the load goes to them in turns of a fraction of a second. */
async function oneRound(service, load, { framework, requests }) {
  const servers = new Map();
  try {
    for (const file of shuffled(FILES)) servers.set(file, await started(service, framework, file));
    const slice = (file) => measure(load, servers.get(file), requests);
    await interleaved(FILES, REQUESTS_BEFORE / requests, slice);
    const results = await interleaved(FILES, SLICES, slice);
    return [...results].map(([file, slices]) => [file, ofProcess(slices)]);
  } finally {
    for (const server of servers.values()) await server.close();
  }
}

async function started(service, framework, file) {
  const [{ retailer, ...held }] = await service.issue([RETAILER]);
  const { baseUrl } = service;
  const input = { framework, file, baseUrl, retailer, held };
  const server = await startCommanded(SERVER, input);
  return { ...server, expected: held.accessToken, port: await server.ask("port") };
}

/** Some requests, each answered with the bearer the handler found; the load checks every one. */
async function measure(load, { ask, port, expected }, requests) {
  await ask("mark");
  const tookMs = await load.ask("requests", { port, expected, requests });
  const cpu = await ask("cpu");
  return { perSecond: (requests / tookMs) * 1000, cpuOfOne: cpu / requests };
}

/**
 * One process differs from the next by more than contestants do, so that many count, and each of them once. CPU is
 * that of all slices: garbage is collected in a few of them and made in all.
 */
function ofProcess(slices) {
  return {
    perSecond: median(slices.map(({ perSecond }) => perSecond)),
    cpuOfOne: slices.reduce((sum, { cpuOfOne }) => sum + cpuOfOne, 0) / slices.length,
  };
}

const nameOf = async (file) => NAMES[file] ?? (await contestant(file)).name;
