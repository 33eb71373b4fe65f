// One process of an application, for the tests of several: it is told what to do, and answers.
import { retailPos } from "@retail-pos/core";
import { engines } from "./engines.mjs";

const { ENGINE, NAMESPACE, OPTIONS } = process.env;
const engine = await engines[ENGINE](NAMESPACE);
let now = 0;
const events = [];
const pos = retailPos({
  ...JSON.parse(OPTIONS),
  ...engine.tokens,
  clock: () => now,
  observe: ({ type }) => events.push(type),
});

const commands = {
  setTime: (at) => {
    now = at;
  },
  /** Trades a code and keeps the tokens. */
  logIn: async ([domainPrefix, code]) => pos.connect(await pos.exchange(domainPrefix, code)),
  /** So many callers at once; answers the different tokens, and what went wrong. */
  call: async ([domainPrefix, callers]) => {
    const source = pos.tokens(domainPrefix);
    const asked = await Promise.allSettled(Array.from({ length: callers }, () => source.token()));
    const values = asked.flatMap((result) => (result.status === "fulfilled" ? [result.value.value] : []));
    const errors = asked.flatMap((result) => (result.status === "rejected" ? [String(result.reason)] : []));
    return { served: values.length, values: [...new Set(values)], errors: [...new Set(errors)] };
  },
  events: () => events.splice(0),
  close: () => engine.close(),
};

process.on("message", async ({ id, command, argument }) => {
  try {
    process.send({ id, result: await commands[command](argument) });
  } catch (error) {
    process.send({ id, error: String(error) });
  }
  if (command === "close") process.disconnect();
});
process.send({ ready: true });
