// One process of an application, for the tests of several: it is told what to do, answers, and says what happens.
import { retailPos } from "@retail-pos/core";
import { sealedStore } from "@retail-pos/sealed-store";
import { engines } from "./engines.mjs";

const { ENGINE, NAMESPACE, OPTIONS, SEALING, IS_QUIET } = process.env;
const { store: inner, lock } = await engines[ENGINE](NAMESPACE);
const store = SEALING ? sealedStore(inner, JSON.parse(SEALING)) : inner;
let now = 0;
let requestsMayGo = Promise.resolve();
let letRequestsGo = () => {};
let renewing = new AbortController();

const say = (event) => {
  if (!IS_QUIET) process.send({ event });
};
const pos = retailPos({
  ...JSON.parse(OPTIONS),
  store: { ...store, save: saveAloud },
  lock,
  clock: () => now,
  observe: ({ type }) => say(type),
  async fetch(...request) {
    say("sends");
    await requestsMayGo;
    return fetch(...request);
  },
});

/** For many logins at once, on a machine that may have other things to do. */
const loginsAlone = retailPos({ ...JSON.parse(OPTIONS), timeoutMs: 60_000, clock: () => now });

async function saveAloud(...sets) {
  try {
    const isSaved = await store.save(...sets);
    if (isSaved) say("saved");
    return isSaved;
  } catch (error) {
    say("save failed");
    throw error;
  }
}

/** What became of callers: how many were served, the different tokens, and what went wrong. */
function outcomeOf(asked) {
  const values = asked.flatMap((result) => (result.status === "fulfilled" ? [result.value.value] : []));
  const errors = asked.flatMap((result) => (result.status === "rejected" ? [String(result.reason)] : []));
  return { served: values.length, values: [...new Set(values)], errors: [...new Set(errors)] };
}

const AT_A_TIME = 16;

/** What `Promise.allSettled` answers, with so much under way at a time. */
async function severalAtATime(all, work) {
  const results = new Array(all.length);
  const left = all.entries();
  const worker = async () => {
    for (const [index, each] of left) [results[index]] = await Promise.allSettled([work(each)]);
  };
  await Promise.all(Array.from({ length: AT_A_TIME }, worker));
  return results;
}

function valuesOf(results) {
  const failed = results.find(({ status }) => status === "rejected");
  if (failed) throw failed.reason;
  return results.map(({ value }) => value);
}

const commands = {
  setTime: (at) => {
    now = at;
  },
  /** Trades a code and keeps the tokens. */
  logIn: async ([domainPrefix, code]) => pos.connect(await pos.exchange(domainPrefix, code)),
  /** So many callers at once. */
  call: async ([domainPrefix, callers]) => {
    const source = pos.tokens(domainPrefix);
    return outcomeOf(await Promise.allSettled(Array.from({ length: callers }, () => source.token())));
  },
  /** The same for thousands, without the lock that keeps two logins of one retailer apart. */
  logInEach: async (logins) => {
    const logIn = ([domainPrefix, code]) => loginsAlone.exchange(domainPrefix, code);
    // One after the other: a file that is written to stops the process for so long that connections end meanwhile.
    const sets = valuesOf(await severalAtATime(logins, logIn));
    valuesOf(await severalAtATime(sets, (set) => store.save(set)));
  },
  /** One caller for each retailer. The tokens come in the order of the retailers. */
  callEach: async (domainPrefixes) =>
    outcomeOf(await severalAtATime(domainPrefixes, (domainPrefix) => pos.tokens(domainPrefix).token())),
  renewDue: (ask) => {
    renewing = new AbortController();
    return pos.renewDue({ ...ask, signal: renewing.signal });
  },
  stopRenewing: () => renewing.abort(),
  /** The record, past whatever this process remembers. */
  stored: (domainPrefix) => store.load(domainPrefix),
  /** Answers once the engine does: a client may still have to connect again. */
  reachStore: async (domainPrefix) => {
    while (!(await store.load(domainPrefix).catch(() => undefined))) await new Promise(setImmediate);
  },
  /** From here on token requests wait on their way, until they are let go. */
  holdRequests: () => {
    requestsMayGo = new Promise((resolve) => {
      letRequestsGo = resolve;
    });
  },
  letRequestsGo: () => letRequestsGo(),
};

process.on("message", async ({ id, command, argument }) => {
  try {
    process.send({ id, result: await commands[command](argument) });
  } catch (error) {
    process.send({ id, error: String(error) });
  }
});
// Whoever started it is gone.
process.on("disconnect", () => process.exit());
process.send({ event: "ready" });
