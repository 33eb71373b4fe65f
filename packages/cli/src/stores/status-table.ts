import type { RetailerStatus } from "@retail-pos/core";
import { type Colour, coloured, print } from "../terminal/output.js";
import { closeTime, isoTime, lengthOf, localTime } from "../terminal/times.js";
import type { Terminal } from "../terminal/world.js";

/** Shows retailers, one on a line. */
export interface StatusTable {
  /** @param unreadable why its record cannot be read, if so. */
  row(status: RetailerStatus, unreadable: string | undefined): Promise<void>;
  /** Shows what still waits for its column's width. */
  end(): Promise<void>;
}

/** So many rows decide together how wide a column is. */
const TOGETHER = 200;
const UNREADABLE: Token = { text: "cannot be read", colour: "red" };
const HEADINGS = ["RETAILER", "ISSUED", "ACCESS TOKEN"] as const;

type Row = readonly [retailer: string, issued: string, token: string, colour: Colour | undefined];

/**
 * For people on a terminal columns with local times; for a pipe a line with tabs between retailer, state, and the
 * instants of issue, expiry and refusal in ISO 8601, or "-".
 */
export function statusTable(world: Pick<Terminal, "stdout">, now: number): StatusTable {
  if (world.stdout.isTTY !== true) {
    return {
      row: (status, unreadable) => print(world, fieldsOf(status, unreadable, now).join("\t")),
      async end() {},
    };
  }
  const waiting: Row[] = [];
  const widths: [number, number] = [HEADINGS[0].length, HEADINGS[1].length];
  let isHeaded = false;

  return { row, end };

  async function row(status: RetailerStatus, unreadable: string | undefined): Promise<void> {
    const { text, colour } = unreadable === undefined ? tokenOf(status, now) : UNREADABLE;
    waiting.push([status.domainPrefix, localTime(status.issuedAt), text, colour]);
    if (waiting.length >= TOGETHER) await end();
  }

  async function end(): Promise<void> {
    for (const column of [0, 1] as const)
      widths[column] = Math.max(widths[column], ...waiting.map((cells) => cells[column].length));
    if (!isHeaded && waiting.length > 0) {
      isHeaded = true;
      await print(world, coloured(world.stdout, "bold", aligned(HEADINGS)));
    }
    for (const [retailer, issued, token, colour] of waiting.splice(0)) {
      await print(world, aligned([retailer, issued, colour ? coloured(world.stdout, colour, token) : token]));
    }
  }

  function aligned([retailer, issued, token]: readonly [string, string, string]): string {
    return `${retailer.padEnd(widths[0])}  ${issued.padEnd(widths[1])}  ${token}`;
  }
}

type Token = { readonly text: string; readonly colour?: Colour };

/** What a person wants to know of a retailer's tokens, with the colour that it deserves. */
export function tokenOf({ expiresAt, refusedAt }: RetailerStatus, now: number): Token {
  if (refusedAt !== undefined)
    return {
      text: `log in again: refused ${lengthOf(now - refusedAt)} ago (${closeTime(refusedAt, now)})`,
      colour: "red",
    };
  if (expiresAt === undefined) return { text: "end unknown" };
  const ends = `${lengthOf(expiresAt - now)}`;
  return expiresAt > now
    ? { text: `ends in ${ends} (${closeTime(expiresAt, now)})` }
    : { text: `ended ${ends} ago (${closeTime(expiresAt, now)})`, colour: "yellow" };
}

function fieldsOf(status: RetailerStatus, unreadable: string | undefined, now: number): string[] {
  const { domainPrefix, issuedAt, expiresAt, refusedAt } = status;
  const ended = expiresAt !== undefined && expiresAt <= now;
  const readable = refusedAt !== undefined ? "refused" : ended ? "ended" : "connected";
  const state = unreadable === undefined ? readable : "unreadable";
  const instants = [issuedAt, expiresAt, refusedAt].map((at) => (at === undefined ? "-" : isoTime(at)));
  return [domainPrefix, state, ...instants];
}
