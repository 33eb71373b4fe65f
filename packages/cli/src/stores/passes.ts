import type { DomainPrefix } from "@retail-pos/core";
import { retailersIn } from "@retail-pos/core/authoring";
import { APPLICATION_FLAGS, readFlags } from "../terminal/arguments.js";
import { filled } from "../terminal/output.js";
import type { Terminal } from "../terminal/world.js";
import { WrongUse } from "../terminal/wrong-use.js";
import { loadApplication, type SealingStore } from "./application-module.js";
import { forEachRetailer } from "./fleet.js";
import { FAILED, type Outcomes, outcomes } from "./tally.js";

/** A command that goes through a sealed store, again and again, until a full pass finds nothing to do. */
export interface PassesCommand {
  /** What the store must save: sealed records, or plain ones (`plain: "write"`). */
  readonly saves: "sealed" | "plain";
  /** What is done for one retailer; the result is its outcome. It opens each record, also those that need nothing. */
  work(store: SealingStore, domainPrefix: DomainPrefix): Promise<string>;
  /** Its own outcomes and how each is told, in the order of their sum. */
  readonly labels: Readonly<Record<string, string>>;
  /** The outcomes that say there was something to do. */
  readonly toDo: readonly string[];
  /** What is said at the end; `{key}` stands for the first key. */
  readonly conclusions: Readonly<Record<PassesEnd, string>>;
}

/** Runs the command; the result is its exit code. */
export type Run = (args: string[], terminal: Terminal) => Promise<number>;

/** How it ended. `unfinished`: the last pass found something to do too. */
export type PassesEnd = "done" | "empty" | "failed" | "unfinished";

/** The first pass works, the second finds what was changed meanwhile; more are for a deployment that just ends. */
const MOST_PASSES = 5;

const LABELS_OF_ALL = {
  changed: "changed meanwhile: the next pass looks at them again",
  gone: "disconnected meanwhile",
  [FAILED]: "failed",
};

/** Makes the `run` of a command. */
export function inPasses(command: PassesCommand): Run {
  return async (args, terminal) => {
    const values = readFlags(args, APPLICATION_FLAGS);
    const { store } = await loadApplication(values.client, terminal.signal, "store");
    checkSaves(store, command.saves);
    const labels = { ...command.labels, ...LABELS_OF_ALL };
    const told = outcomes({ terminal, json: values.json, labels });
    const end = await passesThrough(store, command, told, terminal);
    await told.conclude(filled(command.conclusions[end], { key: store.firstKey }));
    return end === "done" || end === "empty" ? 0 : 1;
  };
}

async function passesThrough(
  store: SealingStore,
  { work, toDo }: PassesCommand,
  told: Outcomes,
  { signal }: Terminal,
): Promise<PassesEnd> {
  for (let passes = 1; passes <= MOST_PASSES; passes += 1) {
    told.restart(`Pass ${passes}`);
    let isEmpty = true;
    try {
      await forEachRetailer(retailersIn(store, signal), signal, (domainPrefix) => {
        isEmpty = false;
        return told.of(domainPrefix, () => work(store, domainPrefix));
      });
    } finally {
      if (!isEmpty) await told.sum();
    }
    if (isEmpty) return "empty";
    if (toDo.some((outcome) => told.count(outcome) > 0)) continue;
    return told.count(FAILED) > 0 ? "failed" : "done";
  }
  return "unfinished";
}

/** Only a store that saves plain records has `unseal`. */
function checkSaves({ unseal }: SealingStore, wanted: PassesCommand["saves"]): void {
  if ((unseal === undefined) === (wanted === "sealed")) return;
  const words = {
    sealed: 'saves plain records: every process needs plain: "read", or no plain, before',
    plain: 'saves sealed records: every process needs plain: "write" before',
  };
  throw new WrongUse(`store of the module of --client ${words[wanted]}`);
}
