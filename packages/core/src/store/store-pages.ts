import { base64url } from "../platform/base64url.js";
import { checksum } from "../vocabulary/token-set-versions.js";

/** The most retailers that one page may have. */
export const MOST_ON_A_PAGE = 10_000;

/** The checked arguments of `list`. */
export interface PageAsk {
  /** A whole number from 1 to 10,000. */
  readonly limit: number;
  /** The position that was given to `cursorAt` for this page; absent on the first page. */
  readonly position?: string;
}

/** Checks the arguments of a store's `list`, and makes its cursors. */
export interface StorePages {
  /** @throws {TypeError} naming `limit`, or `cursor` if it was cut, is from another place or is no cursor. */
  asked(ask: unknown): PageAsk;
  /**
   * The cursor of the next page.
   *
   * @param position where that page begins, any text; most simply the last retailer of this page.
   */
  cursorAt(position: string): string;
}

/**
 * The limits and cursors of a store's `list`, for those who write a store. A cursor is readable text with a checksum. A
 * cursor that was cut, or that is from another store, is refused; without the checksum it could give a wrong page.
 *
 * @param place names the engine and the table. A cursor of one place is refused in another.
 */
export function storePages(place: string): StorePages {
  return {
    asked(ask) {
      const { limit, cursor } = Object(ask) as { limit?: unknown; cursor?: unknown };
      if (typeof limit !== "number" || !Number.isInteger(limit) || limit < 1 || limit > MOST_ON_A_PAGE)
        throw new TypeError(`limit must be a whole number from 1 to ${MOST_ON_A_PAGE}`);
      return cursor === undefined ? { limit } : { limit, position: positionOf(cursor) };
    },
    cursorAt,
  };

  function cursorAt(position: string): string {
    return `${base64url(new TextEncoder().encode(position))}.${checksum(`${place}\n${position}`)}`;
  }

  function positionOf(cursor: unknown): string {
    const position = typeof cursor === "string" ? textIn(cursor.split(".")[0] ?? "") : undefined;
    if (position === undefined || cursorAt(position) !== cursor)
      throw new TypeError("cursor must be what list() gave, whole, of this store");
    return position;
  }
}

function textIn(encoded: string): string | undefined {
  try {
    const bytes = atob(encoded.replaceAll("-", "+").replaceAll("_", "/"));
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(
      Uint8Array.from(bytes, (byte) => byte.charCodeAt(0)),
    );
  } catch {
    return undefined;
  }
}
