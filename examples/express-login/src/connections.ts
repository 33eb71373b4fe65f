import { randomUUID } from "node:crypto";
import { promisify } from "node:util";
import type { RetailPos } from "@retail-pos/core";
import session, { type Store } from "express-session";

declare module "express-session" {
  interface SessionData {
    /** In the record of a store, which is kept beside the sessions. */
    connection?: string;
  }
}

/**
 * Tells one connection of a store from the next: a session that began before the store was disconnected shows nothing
 * of what somebody else connects later.
 */
export class Connections {
  readonly #pos: RetailPos;
  readonly #sessions: Store;
  readonly #lifeMs: number;

  /** @param lifeMs how long a session lives: no record ends before the sessions that name it. */
  constructor(pos: RetailPos, sessions: Store, lifeMs: number) {
    this.#pos = pos;
    this.#sessions = sessions;
    this.#lifeMs = lifeMs;
  }

  /** Which connection a login belongs to, before its tokens are kept: a new one, unless the store is connected. */
  async ofLogin(domainPrefix: string): Promise<string> {
    const isConnected = (await this.#pos.status(domainPrefix)) !== undefined;
    const connection = (isConnected && (await this.now(domainPrefix))) || randomUUID();
    const cookie = new session.Cookie();
    cookie.maxAge = this.#lifeMs;
    await promisify(this.#sessions.set).call(this.#sessions, idOf(domainPrefix), { cookie, connection });
    return connection;
  }

  async now(domainPrefix: string): Promise<string | undefined> {
    const record = await promisify(this.#sessions.get).call(this.#sessions, idOf(domainPrefix));
    return record?.connection;
  }
}

/** No session has this id: theirs are random. */
function idOf(domainPrefix: string): string {
  return `store:${domainPrefix}`;
}
