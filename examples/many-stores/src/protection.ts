import type { RequestHandler } from "express";
import helmet from "helmet";
import type { Service } from "./environment.js";
import { isFromElsewhere, REFUSAL } from "./same-origin.js";
import { secureHeaders } from "./secure-headers.js";

/** For every answer, files too. */
export const protectiveHeaders = (service: Pick<Service, "authUrl" | "redirectUri">): RequestHandler =>
  helmet(secureHeaders(service));

/** A page with a store's data is not shown again by Back, once its reader has logged out. */
export const neverStored: RequestHandler = (_req, res, next) => {
  res.set("cache-control", "no-store");
  next();
};

/** Refuses what a page of another site sends in our people's names. */
export function fromOurPagesOnly({ redirectUri }: Pick<Service, "redirectUri">): RequestHandler {
  return (req, res, next) => {
    if (isFromElsewhere(req.method, req.headers, redirectUri)) res.status(403).type("text").send(REFUSAL);
    else next();
  };
}
