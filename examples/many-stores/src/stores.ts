import { isRetailPosError } from "@retail-pos/core";
import { bearer } from "@retail-pos/express-bearer";
import { type NextFunction, type Request, type Response, Router } from "express";
import { failureWords } from "passport-retail-pos";
import { requireLogin } from "./accounts.js";
import type { Parts } from "./connect.js";
import { waitOf } from "./problem-page.js";
import type { Store } from "./records.js";
import { ApiError, PAGE_SIZE, type Product, readPage } from "./store-api.js";

declare global {
  namespace Express {
    interface Request {
      /** The store that the request is about. It is set only if it is this person's. */
      ownStore?: Store;
    }
  }
}

/** With fewer pieces a product runs low. */
const PLENTY = 10;
/** How long a page waits for a store. Then it shows what was last counted. */
const PATIENCE_MS = 10_000;

/** The pages of stores. Each of them asks first whether the store is this person's. */
export function storeRoutes({ client, records, memberships, clock }: Omit<Parts, "people">): Router {
  const router = Router();
  router.use("/stores", requireLogin);
  router.get("/stores", showStores);
  router.use("/stores/:store", requireOwn);
  const fresh = bearer({ client, retailer: (req) => req.ownStore?.domainPrefix });
  router.get("/stores/:store", fresh, showProducts, showKept);
  router.get("/stores/:store/disconnect", (req, res) => res.render("disconnect", { store: req.ownStore }));
  router.post("/stores/:store/disconnect", async ({ user, ownStore }, res) => {
    if (user && ownStore) await memberships.leave(user.id, ownStore.domainPrefix);
    res.redirect(303, "/stores");
  });
  return router;

  /** What is not this person's does not exist for them. */
  function requireOwn(req: Request<{ store: string }>, _res: Response, next: NextFunction) {
    const own = req.user && records.storeOf(req.user.id, req.params.store.toLowerCase());
    if (!own) return next("router"); // to the page for what does not exist
    req.ownStore = own;
    next();
  }

  async function showStores({ user }: Request, res: Response): Promise<void> {
    const own = user ? records.storesOf(user.id) : [];
    const connected = await Promise.all(own.map(({ domainPrefix }) => isConnected(domainPrefix)));
    res.render("stores", {
      stores: own.map((store, index) => ({ ...store, isConnected: connected[index] })),
    });
  }

  async function showProducts({ ownStore, retailPos }: Request, res: Response): Promise<void> {
    const products = await readPage(retailPos, 1, AbortSignal.timeout(PATIENCE_MS));
    res.render("store", { store: ownStore, ...shelf(products), readAt: clock() });
  }

  /** If the store cannot be asked now, its page shows what the nightly job found, and says so. */
  function showKept(error: unknown, req: Request, res: Response, next: NextFunction) {
    const trouble = troubleOf(error);
    const store = req.ownStore;
    if (!trouble || !store || res.headersSent) return next(error);
    if (isRetailPosError(error)) res.set(error.headers);
    else console.warn(`${store.domainPrefix} could not be read: ${error}`);
    res.status(trouble.action === "log_in" ? 200 : 503);
    const products = records.productsOf(store.domainPrefix);
    res.render("store", { store, ...shelf(products), readAt: store.pulledAt, trouble, wait: waitOf(error) });
  }

  async function isConnected(domainPrefix: string): Promise<boolean> {
    try {
      const status = await client.status(domainPrefix);
      return status !== undefined && status.refusedAt === undefined;
    } catch (error) {
      // Tokens that cannot be read are replaced by connecting the store again, unless another application keeps them.
      if (isRetailPosError(error) && error.code === "bad_stored_tokens") return error.isOfAnotherApplication;
      throw error;
    }
  }
}

/** What the person can do about it. Nothing, if it is ours to fix. */
function troubleOf(error: unknown): ReturnType<typeof failureWords> | undefined {
  const { name = "", message = "" } = error instanceof Error ? error : {};
  const isNetwork = name === "TimeoutError" || (name === "TypeError" && message === "fetch failed");
  if (error instanceof ApiError || isNetwork) return failureWords({ code: "token_endpoint_failed" });
  if (!isRetailPosError(error) || error.code === "store_failed") return undefined;
  const words = failureWords({ code: error.code, error });
  return words.action === "home" ? undefined : words;
}

/** The first page of products, and whether there may be more. */
const shelf = (all: readonly Product[]) => ({
  products: all.slice(0, PAGE_SIZE).map((product) => ({ ...product, isLow: product.inStock < PLENTY })),
  isFirstPage: all.length >= PAGE_SIZE,
  plenty: PLENTY,
});
