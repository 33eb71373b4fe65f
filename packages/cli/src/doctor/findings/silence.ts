import type { Silence, WhySilent } from "../browser/browser-get.js";

/** Whose address was asked. */
export type Side = "application" | "service";

/** How to mend an address that does not answer. The right advice differs with the reason. */
export function mendOfSilence({ why, unreachable }: Silence, side: Side): string {
  if (why === "untrusted") return certificateMend(unreachable);
  return (side === "application" ? ofApplication : ofService)[why];
}

const ofApplication: Record<Exclude<WhySilent, "untrusted">, string> = {
  "nobody-listens":
    "Start the application, and give the doctor the port that it listens on; inside a container it has to listen on 0.0.0.0.",
  "unknown-host": "Mind the spelling of the host; if the name is new, wait until DNS knows it.",
  "too-late":
    "Look for what never answers: mostly a session store whose database is not there, because its client queues commands without end. Then a middleware that never calls next(), or an async handler on Express 4 that throws.",
  "no-tls":
    "Give the address with http:// if nothing ends https in front of the application yet; else let the proxy do it on this port.",
  closed:
    "Give the address with https:// if the application serves https on this port; else read its log: it may have crashed on this request.",
  unopenable: "Redirect to an address that a browser can open.",
  other: "Open this address in a browser of this machine, and read the application's log.",
};

const ofService: Record<Exclude<WhySilent, "untrusted">, string> = {
  "nobody-listens": "Check host and port of authUrl; for the sandbox, start it: npx @retail-pos/sandbox.",
  "unknown-host": "Check the host in authUrl, letter by letter.",
  "too-late": "Try again in a while; if it stays so, check host and port of authUrl.",
  "no-tls": "Check scheme and port of authUrl: the sandbox speaks http, the service https.",
  closed: "Check scheme and port of authUrl.",
  unopenable: "Give authUrl the https address of the consent server.",
  other: "Check authUrl, and open it in a browser.",
};

/** By the code that stands in the words. Nobody should learn to switch checking off. */
function certificateMend(words: string): string {
  if (words.includes("EXPIRED")) return "Renew the certificate.";
  if (words.includes("ALTNAME"))
    return "Open the name that the certificate was made out to, or have one made out to this name.";
  if (words.includes("UNABLE_TO_VERIFY_LEAF"))
    return "Let the server send the intermediate certificates too (the full chain).";
  return (
    "Use a certificate from an authority that browsers know. With an authority of your own, run the doctor with " +
    "NODE_EXTRA_CA_CERTS=<its certificate>, and the application too if it has to trust it."
  );
}
