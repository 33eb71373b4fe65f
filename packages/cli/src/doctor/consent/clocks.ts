import { type Finding, ok, problem, skipped, warning } from "../findings/finding.js";

/** A Date header counts whole seconds, and answers take their time. */
const UNREMARKABLE_MS = 30_000;
const HARMFUL_MS = 120_000;

/** How far clocks are ahead of this machine's, in milliseconds; undefined if there was no Date header. */
export interface Clocks {
  readonly serviceAheadMs: number | undefined;
  readonly applicationAheadMs: number | undefined;
}

/** This machine's clock and the application's, by the service's. */
export function clocks({ serviceAheadMs, applicationAheadMs }: Clocks): Finding[] {
  if (serviceAheadMs === undefined) {
    const mend = "Compare the clock with another one; a machine that keeps its time by NTP is fine.";
    return [skipped("clock", "The service told no time to compare with.", mend)];
  }
  const machine = clock("clock", "This machine's clock", -serviceAheadMs);
  if (applicationAheadMs === undefined) return [machine];
  return [
    machine,
    clock("application-clock", "The application's clock", applicationAheadMs - serviceAheadMs),
  ];
}

function clock(check: string, whose: string, aheadMs: number): Finding {
  const off = Math.abs(aheadMs);
  if (off < UNREMARKABLE_MS) return ok(check, `${whose} agrees with the service's.`);
  const message = `${whose} is ${inWords(off)} ${aheadMs > 0 ? "ahead of" : "behind"} the service's.`;
  return (off < HARMFUL_MS ? warning : problem)(check, message, {
    effect:
      "The retailer sees a failure now and then: tokens are renewed too late, a rate limit is waited out too long or too briefly.",
    mend: "Let the machine keep its time by NTP.",
  });
}

function inWords(ms: number): string {
  const seconds = Math.round(ms / 1000);
  return seconds < 120 ? `${seconds} seconds` : `${Math.round(seconds / 60)} minutes`;
}
