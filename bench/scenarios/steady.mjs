// 200 calls a second while a short-lived token ends several times.
import { contestant, RENEWING } from "../contestants/index.mjs";
import { inFreshProcess } from "../lib/process.mjs";
import { interleaved, median, most } from "../lib/rounds.mjs";
import { tokenService } from "../lib/service.mjs";

const WORKER = new URL("./steady/worker.mjs", import.meta.url);
const ANSWER_MS = 100;
/**
 * Renewal begins a tenth of the lifetime early: 600 ms, so that an answer of 100 ms is there in time with room to
 * spare. And 20 of the 1,200 calls between two expiries come while the token endpoint answers: more than one in a
 * hundred, so that whoever lets them wait shows it in p99.
 */
const LIFETIME_MS = 6000;
const EXPIRIES = 3;
const DURATION_MS = (EXPIRIES + 0.5) * LIFETIME_MS;
/** Of what must not happen the worst round counts; of waits, which the machine has its part in, the median. */
const NEVER = new Set(["waited", "requests", "expired", "failed"]);

export default {
  id: "steady",
  title: "steady: 200 calls a second over several token lifetimes",
  floor: "nobody waits",
  rounds: 2,
  quickRounds: 1,
  figures: {
    waited: "calls per 1,000 that waited",
    p99: "99th percentile of the wait ÷ the token endpoint's answer time",
    max: "longest wait ÷ the token endpoint's answer time",
    requests: "token requests for each new token",
    expired: "expired tokens handed out",
    replaced: "calls per 1,000 that got a token after a newer one was issued",
    failed: "failed calls",
  },
  targets: [
    { figure: "waited", exactly: 0 },
    { figure: "p99", atMost: 0.05 },
    { figure: "max", atMost: 0.2 },
    { figure: "requests", exactly: 1 },
    { figure: "expired", exactly: 0 },
    { figure: "failed", exactly: 0 },
  ],
  async run({ rounds, note = () => {} }) {
    const service = await tokenService({ delayMs: ANSWER_MS });
    try {
      const results = await interleaved(RENEWING, rounds, (file, round) => {
        note(`${round + 1}/${rounds} ${file}`);
        return steady(service, file);
      });
      const rows = {};
      for (const [file, outcomes] of results) {
        const { name } = await contestant(file);
        const figures = Object.keys(outcomes[0]);
        rows[name] = Object.fromEntries(
          figures.map((figure) => [
            figure,
            (NEVER.has(figure) ? most : median)(outcomes.map((outcome) => outcome[figure])),
          ]),
        );
      }
      return rows;
    } finally {
      await service.close();
    }
  },
};

async function steady(service, file) {
  await service.configure({ lifetimeMs: LIFETIME_MS });
  await service.reset();
  const { calls, waits, waited, handedOut, failed } = await inFreshProcess(WORKER, {
    file,
    address: service.address,
    lifetimeMs: LIFETIME_MS,
    durationMs: DURATION_MS,
  });
  const known = await service.issued([...handedOut.keys()]);
  const expired = [...handedOut.values()].flatMap(
    (times, index) => times.filter((at) => !(at < known[index]?.expiresAt)), // also what was never issued
  );
  const replaced = [...handedOut.values()].flatMap((times, index) =>
    times.filter((at) => at > known[index]?.replacedAt),
  );
  const expiries = Math.max(1, handedOut.size - 1);
  waits.sort((one, other) => one - other);
  return {
    waited: (1000 * waited) / calls,
    p99: waits[Math.floor(waits.length * 0.99)] / ANSWER_MS,
    max: waits.at(-1) / ANSWER_MS,
    requests: (await service.log()).length / expiries,
    expired: expired.length,
    replaced: (1000 * replaced.length) / calls,
    failed,
  };
}
