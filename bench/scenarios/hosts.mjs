// The API of thousands of stores, each a host of its own: the CPU of a call, connections, and the heap of a host.
import { nodeOf } from "../lib/node-versions.mjs";
import { inFreshProcess, startCommanded } from "../lib/process.mjs";
import { interleaved, most, ratioTo } from "../lib/rounds.mjs";

const worker = (name) => new URL(`hosts/${name}.mjs`, import.meta.url);
const LONG_MS = 600_000;

/** Everything in `work` is asked of one server. */
async function withServer(options, work) {
  const server = await startCommanded(worker("server"), options);
  try {
    return await work(server, await server.ask("port"));
  } finally {
    await server.close();
  }
}

const CALLERS = ["fetch", "ours"];
const PLACES = [
  { figure: "kept1", hosts: 1, words: "calls to one host over kept-alive connections" },
  { figure: "kept1000", hosts: 1000, words: "calls to 1,000 hosts in turn over kept-alive connections" },
];

const cpu = {
  id: "hosts-cpu",
  title: "hosts: CPU of an API call ÷ CPU with the built-in fetch",
  floor: "the same GET by plain fetch",
  rounds: 3,
  quickRounds: 1,
  figures: Object.fromEntries(PLACES.map(({ figure, words }) => [figure, words])),
  targets: [
    { row: "ours", figure: "kept1", atMost: 1.25 },
    { row: "ours", figure: "kept1000", atMost: 1.25 },
  ],
  run: ({ rounds, note }) =>
    withServer({ keepAliveMs: LONG_MS }, async (_server, port) => {
      const rows = Object.fromEntries(CALLERS.map((caller) => [caller, {}]));
      for (const { figure, hosts, words } of PLACES) {
        note(words);
        const input = { port, hosts, calls: 1000, batches: 3 };
        const results = await interleaved(CALLERS, rounds, (caller) =>
          inFreshProcess(worker("cpu"), { caller, ...input }),
        );
        const ratios = ratioTo(results, "fetch");
        for (const caller of CALLERS) rows[caller][figure] = ratios.get(caller);
      }
      return rows;
    }),
};

const heaps = {
  id: "hosts-heap",
  title: "hosts: heap for each of 10,000 hosts called once",
  floor: "nothing",
  rounds: 1,
  quickRounds: 1,
  figures: {
    kept: "bytes 12 s after the call, if the host keeps the connection",
    left: "bytes 12 s after the call, if the host closes the connection after 2 s",
  },
  targets: ["20", "22", "24"].flatMap((node) => [
    { row: `ours, Node ${node}`, figure: "kept", atMost: 2000 },
    { row: `ours, Node ${node}`, figure: "left", atMost: 2000 },
  ]),
  async run({ quick, note }) {
    const rows = {};
    const hosts = quick ? 1000 : 10_000;
    for (const node of ["20", "22", "24"]) {
      const { execPath } = await nodeOf(Number(node));
      for (const [caller, name] of [
        ["fetch", "fetch"],
        ["retailFetchByDefault", "ours"],
      ]) {
        note(`${name} on Node ${node}`);
        const bytes = (keepAliveMs) => bytesOfHost({ caller, hosts, keepAliveMs, execPath });
        rows[`${name}, Node ${node}`] = { kept: await bytes(LONG_MS), left: await bytes(2000) };
      }
    }
    return rows;
  },
};

const keptConnections = {
  id: "hosts-kept",
  title: "hosts: heap for each connection that is kept open",
  floor: "nothing",
  rounds: 1,
  quickRounds: 1,
  figures: { bytes: "bytes, one connection to each of 2,000 hosts" },
  targets: [],
  async run({ note }) {
    const rows = {};
    for (const node of ["20", "22", "24"]) {
      const { execPath } = await nodeOf(Number(node));
      note(`Node ${node}`);
      const bytes = await bytesOfHost({
        caller: "retailFetch",
        hosts: 2000,
        keepAliveMs: LONG_MS,
        execPath,
      });
      rows[`ours, Node ${node}`] = { bytes };
    }
    return rows;
  },
};

/** After one call to each, and twelve seconds of nothing. */
function bytesOfHost({ keepAliveMs, execPath, ...asked }) {
  return withServer({ keepAliveMs }, async (_server, port) => {
    const how = { execPath, execArgv: ["--expose-gc"] };
    const { bytes } = await inFreshProcess(worker("heap"), { ...asked, port, idleMs: 12_000 }, how);
    return Math.max(0, Math.round(bytes));
  });
}

const connections = {
  id: "hosts-connections",
  title: "hosts: connections to one host",
  floor: "one connection",
  rounds: 3,
  quickRounds: 1,
  figures: {
    apart: "connections opened for three calls 5 s apart",
    burst: "connections opened for 1,000 calls made at once",
    underWay: "calls in flight together, if 1,000 are made at once",
  },
  targets: [
    { figure: "apart", exactly: 1 },
    { figure: "burst", exactly: 8 },
    { figure: "underWay", exactly: 8 },
  ],
  run: ({ rounds }) =>
    withServer({ keepAliveMs: LONG_MS, delayMs: 20 }, async (server, port) => {
      const results = await interleaved(CALLERS, rounds, async (caller) => {
        const told = async (story) => {
          await server.ask("counted");
          await inFreshProcess(worker("connections"), { caller, port, story });
          return server.ask("counted");
        };
        const apart = await told("apart");
        const burst = await told("burst");
        return { apart: apart.opened, burst: burst.opened, underWay: burst.most };
      });
      const worst = (rounds, figure) => most(rounds.map((round) => round[figure]));
      return Object.fromEntries(
        CALLERS.map((caller) => [
          caller,
          Object.fromEntries(
            ["apart", "burst", "underWay"].map((name) => [name, worst(results.get(caller), name)]),
          ),
        ]),
      );
    }),
};

export default [cpu, heaps, keptConnections, connections];
