// The token has expired, the token endpoint answers 429 for two seconds, and 100 calls a second go on.
import { contestant, RENEWING } from "../contestants/index.mjs";
import { inFreshProcess } from "../lib/process.mjs";
import { interleaved, median, most } from "../lib/rounds.mjs";
import { checkBearers, tokenService } from "../lib/service.mjs";

const WORKER = new URL("./rate-limit/worker.mjs", import.meta.url);
const RETAILER = "corner-store";
const ANSWER_MS = 100;
const BLOCKED_MS = 2000;

export default {
  id: "rate-limit",
  title: "rate limit: token expired, token endpoint answers 429 for 2 to 3 s",
  floor: "1 token request while blocked, and one answer of the token endpoint after the reset",
  rounds: 5,
  quickRounds: 1,
  figures: {
    blocked: "token requests during the 429s, at 100 calls a second",
    resumed: "time from the end of the 429s until the first token ÷ the token endpoint's answer time",
    requests: "token requests after the 429s",
  },
  targets: [
    { figure: "blocked", exactly: 1 },
    { figure: "resumed", atLeast: 0, atMost: 1.5 },
    { figure: "requests", exactly: 1 },
  ],
  async run({ rounds, note = () => {} }) {
    const service = await tokenService({ delayMs: ANSWER_MS });
    try {
      const results = await interleaved(RENEWING, rounds, (file, round) => {
        note(`${round + 1}/${rounds} ${file}`);
        return limited(service, file);
      });
      const rows = {};
      for (const [file, outcomes] of results) {
        const of = (figure) => outcomes.map((outcome) => outcome[figure]);
        rows[(await contestant(file)).name] = {
          blocked: most(of("blocked")),
          resumed: outcomes.every(({ resumed }) => resumed !== null) ? median(of("resumed")) : null,
          requests: most(of("requests")),
        };
      }
      return rows;
    } finally {
      await service.close();
    }
  },
};

async function limited(service, file) {
  await service.reset();
  const { resetAt, firstAt, values } = await inFreshProcess(WORKER, {
    file,
    address: service.address,
    retailer: RETAILER,
    blockedMs: BLOCKED_MS,
  });
  await checkBearers(
    service,
    values.map((value) => ({ retailer: RETAILER, value })),
  );
  const log = await service.log();
  return {
    blocked: log.filter(({ status }) => status === 429).length,
    resumed: firstAt === undefined ? null : (firstAt - resetAt) / ANSWER_MS,
    requests: log.filter(({ status }) => status !== 429).length,
  };
}
