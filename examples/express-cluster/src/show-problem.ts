import type { Request, Response } from "express";
import { problemOf } from "./problems.js";

/** The page for what went wrong. Whoever is logged in keeps their store and the way out at its top. */
export function showProblem(req: Request, res: Response, code: string, error?: unknown): void {
  const store = req.user?.domainPrefix;
  const isLogin = req.path.startsWith("/auth/");
  res.render("problem", { store, problem: problemOf({ code, isLogin, store, error }) });
}
