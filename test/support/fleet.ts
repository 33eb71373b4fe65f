import type { RenewDueReport } from "@retail-pos/core";
import { type Application, type ApplicationSettings, startApplication } from "./processes.js";

const PROCESSES = 4;
/** How many each of them renews at a time. */
export const CONCURRENCY = 8;
export const LIFETIME_MS = 600_000;

export interface Fleet extends Application {
  readonly names: readonly string[];
  /** In all processes at once. */
  renewDue(): Promise<RenewDueReport[]>;
  /** Lets the tokens of all end. What follows counts from here. */
  endTokens(): Promise<void>;
  /** How many requests have arrived since everybody had logged in, or since `endTokens`. */
  newRequests(): number;
  /** How the service answered the renewals of each since then. */
  refreshes(): Map<string, (number | undefined)[]>;
}

/** So many retailers, all logged in. */
export async function fleetOf(
  size: number,
  on: Pick<ApplicationSettings, "engine" | "way" | "onTestFinished">,
): Promise<Fleet> {
  const names = Array.from({ length: size }, (_, index) => `retailer-${index}`);
  const app = await startApplication({
    ...on,
    retailers: [],
    stores: names.map((name) => ({ domainPrefix: name, name })),
    processes: PROCESSES,
    lifetimeMs: LIFETIME_MS,
    isQuiet: true,
  });
  await app.logInAll(names);
  const lastId = () => app.sandbox.requests.at(-1)?.id ?? 0;
  let before = lastId();
  return {
    ...app,
    names,
    renewDue: () =>
      Promise.all(app.processes().map((process) => process.renewDue({ concurrency: CONCURRENCY }))),
    async endTokens() {
      await app.letPass(LIFETIME_MS);
      before = lastId();
    },
    newRequests: () => lastId() - before,
    refreshes() {
      const answers = new Map<string, (number | undefined)[]>(names.map((name) => [name, []]));
      for (const { id, domainPrefix = "", status } of app.sandbox.requests)
        if (id > before) answers.get(domainPrefix)?.push(status);
      return answers;
    },
  };
}

export function sumOf(reports: readonly RenewDueReport[], field: "renewed" | "failed"): number {
  return reports.reduce((sum, report) => sum + report[field], 0);
}
