import { type DomainPrefix, isRetailPosError, type RetailPos } from "@retail-pos/core";
import { loadApplication } from "../stores/application-module.js";
import { forEachRetailer, retailersOf } from "../stores/fleet.js";
import { FAILED, outcomes } from "../stores/tally.js";
import { APPLICATION_FLAGS, domainPrefixesIn, readArguments } from "../terminal/arguments.js";
import { isConfirmed } from "../terminal/question.js";
import { grouped } from "../terminal/times.js";
import type { Terminal } from "../terminal/world.js";
import { WrongUse } from "../terminal/wrong-use.js";

export const help = `Usage: retail-pos disconnect <domain prefix>... --client <module> [options]
       retail-pos disconnect --refused --client <module> [options]

Forgets the tokens of retailers, who then have to log in again. Asks first.

  --client <module>  your application's module, which exports client, what retailPos() gave
  --refused          all those whose refresh token the service has refused
  --yes              do not ask
  --json             one line of JSON for each retailer: domainPrefix, outcome, error
  --help             show this

Exit code: 1 if one of them is unknown or failed, or the answer was no.
`;

const flags = { ...APPLICATION_FLAGS, refused: { type: "boolean" }, yes: { type: "boolean" } } as const;

/** Who is to be disconnected. */
interface Wanted {
  /** For the question. */
  readonly count: number;
  readonly some: readonly DomainPrefix[];
  all(): AsyncIterable<{ domainPrefix: DomainPrefix }>;
  /** Looks once more, just before: what is to be told instead of disconnecting, if anything. */
  left(domainPrefix: DomainPrefix): Promise<"unknown" | "connected" | undefined>;
}

/** So many names stand in the question. */
const MOST_NAMED = 10;

/** Runs the command; the result is its exit code. */
export async function run(args: string[], terminal: Terminal): Promise<number> {
  const { values, positionals } = readArguments(args, flags);
  const prefixes = domainPrefixesIn(positionals);
  if (values.refused === true && prefixes.length > 0)
    throw new WrongUse("either name retailers or give --refused, not both");
  if (!values.refused && prefixes.length === 0)
    throw new WrongUse("name the retailers to disconnect, or give --refused");
  const { client } = await loadApplication(values.client, terminal.signal, "client");
  const wanted = values.refused ? await theRefused(client, terminal) : named(client, prefixes);
  if (wanted.count === 0) {
    terminal.stderr.write("No retailer is refused: nothing to disconnect.\n");
    return 0;
  }
  if (!values.yes && !(await isConfirmed(terminal, question(wanted)))) {
    terminal.stderr.write("Nothing was changed. --yes does not ask.\n");
    return 1;
  }
  const labels = {
    disconnected: "disconnected",
    ...(values.refused ? { connected: "connected again or gone meanwhile" } : { unknown: "not connected" }),
    [FAILED]: "failed",
  };
  const { of, count, sum } = outcomes({ terminal, json: values.json, labels, named: ["unknown"] });
  try {
    await forEachRetailer(wanted.all(), terminal.signal, (domainPrefix) =>
      of(domainPrefix, async () => {
        const left = await wanted.left(domainPrefix);
        if (left) return left;
        await client.disconnect(domainPrefix);
        return "disconnected";
      }),
    );
  } finally {
    await sum();
  }
  return count("unknown") + count(FAILED) > 0 ? 1 : 0;
}

function named(client: RetailPos, prefixes: readonly DomainPrefix[]): Wanted {
  return {
    count: prefixes.length,
    some: prefixes.slice(0, MOST_NAMED),
    async *all() {
      for (const domainPrefix of prefixes) yield { domainPrefix };
    },
    left: async (domainPrefix) => ((await isStored(client, domainPrefix)) ? undefined : "unknown"),
  };
}

/**
 * Whether there is something to forget. A record that cannot be read counts: who names its retailer wants to be rid of
 * it.
 *
 * @throws {StoredTokensError} it belongs to another application, which still needs it.
 */
async function isStored(client: RetailPos, domainPrefix: DomainPrefix): Promise<boolean> {
  try {
    return (await client.status(domainPrefix)) !== undefined;
  } catch (error) {
    if (!isRetailPosError(error) || error.code !== "bad_stored_tokens") throw error;
    if (error.isOfAnotherApplication) throw error;
    return true;
  }
}

/** Those who are refused by now. Who is refused after they were counted is not in the question, and stays. */
async function theRefused(client: RetailPos, { signal }: Terminal): Promise<Wanted> {
  const some: DomainPrefix[] = [];
  let [count, latest] = [0, Number.NEGATIVE_INFINITY];
  for await (const { domainPrefix, refusedAt } of retailersOf(client, signal)) {
    if (refusedAt === undefined) continue;
    count += 1;
    latest = Math.max(latest, refusedAt);
    if (some.length < MOST_NAMED) some.push(domainPrefix);
  }
  return {
    count,
    some,
    async *all() {
      for await (const status of retailersOf(client, signal)) if (isCounted(status)) yield status;
    },
    left: async (domainPrefix) => (isCounted(await client.status(domainPrefix)) ? undefined : "connected"),
  };

  function isCounted(status: { readonly refusedAt?: number } | undefined): boolean {
    return status?.refusedAt !== undefined && status.refusedAt <= latest;
  }
}

function question({ count, some }: Wanted): string {
  const others = count > some.length ? ` and ${grouped(count - some.length)} more` : "";
  return `Disconnect ${some.join(", ")}${others}? They have to log in again.`;
}
