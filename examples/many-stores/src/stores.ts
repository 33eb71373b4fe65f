import { isRetailPosError, retailerState } from "@retail-pos/core";
import { bearer } from "@retail-pos/express-bearer";
import { type NextFunction, type Request, type Response, Router } from "express";
import { failureWords } from "passport-retail-pos";
import { requireLogin } from "./accounts.js";
import type { Parts } from "./parts.js";
import { waitOf } from "./problem-page.js";
import type { Store } from "./records.js";
import { PAGE_SIZE, readPage } from "./store-api.js";

declare global {
  namespace Express {
    interface Request {
      /** The store that the request is about. It is set only if it is this person's. */
      ownStore?: Store;
    }
  }
}

const NEEDS_LOGIN = ["not_connected", "reconnect_required"];
/** How long a page waits for a store. Then it shows what was last counted. */
const PATIENCE_MS = 10_000;

/** The pages of stores. Each of them asks first whether the store is this person's. */
export function storeRoutes({ client, records, memberships }: Parts): Router {
  const fresh = bearer({ client, retailer: (req) => req.ownStore?.domainPrefix });
  return Router()
    .use("/stores", requireLogin)
    .get("/stores", showStores)
    .use("/stores/:store", requireOwn)
    .get("/stores/:store", fresh, readNow, readKept, showShelves)
    .get("/stores/:store/disconnect", (_req, res) => res.render("disconnect"))
    .post("/stores/:store/disconnect", async ({ user, ownStore }, res) => {
      if (user && ownStore) await memberships.leave(user.id, ownStore.domainPrefix);
      res.redirect(303, "/stores");
    });

  /** What is not this person's does not exist for them. */
  function requireOwn(req: Request<{ store: string }>, res: Response, next: NextFunction) {
    const own = req.user && records.storeOf(req.user.id, req.params.store.toLowerCase());
    if (!own) return next("router"); // to the page for what does not exist
    req.ownStore = own;
    res.locals["store"] = own;
    next();
  }

  async function showStores({ user }: Request, res: Response): Promise<void> {
    const own = user ? records.storesOf(user.id) : [];
    const stores = own.map(async (store) => ({
      ...store,
      // Any other trouble is no reason to connect it again: that would replace tokens that may be good.
      needsLogin: NEEDS_LOGIN.includes((await retailerState(client, store.domainPrefix)).state),
    }));
    res.render("stores", { stores: await Promise.all(stores) });
  }

  async function readNow({ retailPos }: Request, res: Response, next: NextFunction): Promise<void> {
    const products = await readPage(retailPos, 1, AbortSignal.timeout(PATIENCE_MS));
    Object.assign(res.locals, { products, readAt: Date.now() });
    next();
  }

  /** If the store cannot be asked now, its page shows what the nightly job found, and says so. */
  function readKept(error: unknown, { ownStore: store }: Request, res: Response, next: NextFunction) {
    const code = isRetailPosError(error) ? error.code : "token_endpoint_failed"; // the API is as far out of reach
    const trouble = failureWords({ code, error });
    if (!store || trouble.action === "home" || code === "store_failed") return next(error);
    if (isRetailPosError(error)) res.set(error.headers ?? {});
    else console.warn(`${store.domainPrefix} could not be read:`, error);
    res.status(trouble.action === "log_in" ? 200 : 503);
    const products = records.productsOf(store.domainPrefix).slice(0, PAGE_SIZE);
    Object.assign(res.locals, { products, readAt: store.pulledAt, trouble, wait: waitOf(error) });
    next();
  }

  function showShelves(_req: Request, res: Response) {
    res.render("store", { pageSize: PAGE_SIZE });
  }
}
