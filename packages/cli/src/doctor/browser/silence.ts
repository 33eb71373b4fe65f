import { filled } from "../../terminal/output.js";
import { shown } from "./shown-address.js";
import silences from "./silences.json" with { type: "json" };

/** No answer, and why not. `closed`: somebody listens, and hung up without an answer. */
export interface Silence {
  readonly url: URL;
  readonly why: keyof typeof silences;
  /** The same in words, to stand after a colon. */
  readonly unreachable: string;
  /** What to do about it, if the address is the application's or the service's. */
  readonly mends: Readonly<Record<"application" | "service", string>>;
}

/** Why a request failed: by the code of the error, or by its message or name if it has none. */
export function silenceOf(error: unknown, url: URL, timeoutMs: number): Silence {
  const { name, cause } = error as Error & { cause?: { code?: string; message?: string } };
  const sign = cause?.code ?? cause?.message ?? name;
  const whys = Object.keys(silences) as Silence["why"][];
  const why = whys.find((each) => new RegExp(silences[each].sign).test(sign)) ?? "other";
  const { words, application, service } = silences[why];
  const { origin, host, hostname, port, protocol } = url;
  const code = cause?.code ? ` (${cause.code})` : "";
  const values = {
    origin,
    host,
    hostname,
    port,
    protocol,
    address: shown(url),
    code,
    seconds: timeoutMs / 1000,
  };
  return { url, why, unreachable: filled(words, values), mends: { application, service } };
}
