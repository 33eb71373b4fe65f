import {
  isRetailPosError,
  parseDomainPrefix,
  type RetailPos,
  type StoredTokensError,
} from "@retail-pos/core";
import { bearer } from "@retail-pos/express-bearer";
import { type NextFunction, type Request, type Response, Router } from "express";
import { requireLogin } from "./accounts.js";
import type { Memberships } from "./memberships.js";
import { plainTime } from "./plain-time.js";
import type { Records, Store } from "./records.js";
import { waitOf } from "./show-problem.js";
import { ApiError, PAGE_SIZE, type Product, readFirstProducts } from "./store-api.js";

declare global {
  namespace Express {
    interface Request {
      /** The store that the request is about. It is there only if it is this person's. */
      ownStore?: Store;
    }
  }
}

/** With fewer pieces than this a product runs low. */
const PLENTY = 10;
/** So long somebody waits for a store. Then they see what was last counted. */
const PATIENCE_MS = 10_000;

interface Parts {
  client: RetailPos;
  records: Records;
  memberships: Memberships;
  clock?: (() => number) | undefined;
}

/** The pages of stores. Each of them asks first whether the store is this person's. */
export function storeRoutes({ client, records, memberships, clock = Date.now }: Parts): Router {
  const router = Router();
  router.use("/stores", requireLogin);
  router.get("/stores", showStores);
  router.use("/stores/:store", requireOwn);
  const fresh = bearer({ client, retailer: (req) => req.ownStore?.domainPrefix });
  router.get("/stores/:store", fresh, showProducts, showKept);
  router.get("/stores/:store/disconnect", (req, res) => {
    res.render("disconnect", { store: req.ownStore });
  });
  router.post("/stores/:store/disconnect", async (req, res) => {
    const { user, ownStore } = req;
    if (user && ownStore) await memberships.leave(user.id, ownStore.domainPrefix);
    res.redirect(303, "/stores");
  });
  return router;

  /** Nobody learns whether there is such a store: what is not this person's does not exist. */
  async function requireOwn(req: Request<{ store: string }>, _res: Response, next: NextFunction) {
    const domainPrefix = domainPrefixOf(req.params.store);
    const own = req.user && domainPrefix && (await records.storeOf(req.user.id, domainPrefix));
    if (!own) return next("router"); // to the page for what does not exist
    req.ownStore = own;
    next();
  }

  async function showStores(req: Request, res: Response): Promise<void> {
    const own = req.user ? await records.storesOf(req.user.id) : [];
    const stores = await Promise.all(
      own.map(async (store) => ({
        ...store,
        isConnected: await isConnected(store.domainPrefix),
        pulled: timeOf(store),
      })),
    );
    res.render("stores", { stores });
  }

  async function showProducts(req: Request, res: Response): Promise<void> {
    const products = await readFirstProducts(req.retailPos, AbortSignal.timeout(PATIENCE_MS));
    res.render("store", { store: req.ownStore, ...shelf(products), readAt: plainTime(clock()), trouble: "" });
  }

  /** If the store cannot be asked now, its page shows what the nightly job found, and says so. */
  async function showKept(error: unknown, req: Request, res: Response, next: NextFunction): Promise<void> {
    const trouble = troubleOf(error);
    const store = req.ownStore;
    if (!trouble || !store || res.headersSent) return next(error);
    if (trouble === "passing" || isUnreadable(error))
      console.warn(`${store.domainPrefix} could not be read: ${error}`);
    if (isRetailPosError(error)) res.set(error.headers);
    const products = await records.productsOf(store.domainPrefix, PAGE_SIZE);
    res.status(trouble === "log_in_again" ? 200 : 503);
    res.render("store", { store, ...shelf(products), readAt: timeOf(store), trouble, wait: waitOf(error) });
  }

  async function isConnected(domainPrefix: string): Promise<boolean> {
    try {
      const status = await client.status(domainPrefix);
      return status !== undefined && status.refusedAt === undefined;
    } catch (error) {
      if (isUnreadable(error)) return error.isOfAnotherApplication; // unless they are, a login replaces them
      throw error;
    }
  }
}

/** What only a login mends, and what passes by itself. Everything else is no trouble of the store's. */
function troubleOf(error: unknown): "log_in_again" | "passing" | undefined {
  if (error instanceof ApiError) return "passing";
  if (!isRetailPosError(error)) return isNetworkError(error) ? "passing" : undefined;
  switch (error.code) {
    case "not_connected":
    case "reconnect_required":
      return "log_in_again";
    case "bad_stored_tokens":
      return error.isOfAnotherApplication ? undefined : "log_in_again";
    case "rate_limited":
    case "token_endpoint_failed":
    case "bad_token_response":
      return "passing";
    default:
      return undefined;
  }
}

/** Its tokens are damaged, or sealed with a key that is not ours: if many stores say so, look at `TOKEN_KEYS`. */
function isUnreadable(error: unknown): error is StoredTokensError {
  return isRetailPosError(error) && error.code === "bad_stored_tokens";
}

/** What `fetch` rejects with if no answer came. */
function isNetworkError(error: unknown): boolean {
  const { name, message } = error instanceof Error ? error : { name: "", message: "" };
  return name === "TimeoutError" || (name === "TypeError" && message === "fetch failed");
}

/** What an address says, if it can be a store at all: to PostgreSQL not every text is one. */
export function domainPrefixOf(text: unknown): string | undefined {
  try {
    return parseDomainPrefix(text);
  } catch {
    return undefined;
  }
}

const timeOf = ({ pulledAt }: Store) => (pulledAt === undefined ? undefined : plainTime(pulledAt));

/** A page of products, and whether there may be more. */
const shelf = (products: readonly Product[]) => ({
  products: products.map((product) => ({ ...product, isLow: product.inStock < PLENTY })),
  isFirstPage: products.length === PAGE_SIZE,
});
