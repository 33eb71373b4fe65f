import { type ArgumentsHost, Catch, HttpException, HttpStatus, Logger } from "@nestjs/common";
import { BaseExceptionFilter } from "@nestjs/core";
import { isRetailPosError } from "@retail-pos/core";
import type { Request, Response } from "express";
import { isLoggedInAlready } from "./problems.js";
import { showProblem } from "./show-problem.js";

const logger = new Logger("ProblemPages");

/**
 * A page for whatever went wrong, if a browser asks; else Nest's own answer. Core's errors know their status, which
 * Nest honours, and headers such as Retry-After.
 */
@Catch()
export class ProblemPages extends BaseExceptionFilter {
  override catch(error: unknown, host: ArgumentsHost): void {
    const [req, res] = [
      host.switchToHttp().getRequest<Request>(),
      host.switchToHttp().getResponse<Response>(),
    ];
    if (isRetailPosError(error)) res.set({ ...error.headers });
    if (res.headersSent || req.accepts(["json", "html"]) !== "html") super.catch(error, host);
    else show(error, req, res);
  }
}

function show(error: unknown, req: Request, res: Response): void {
  if (error instanceof HttpException) showHttp(error, req, res);
  else {
    const { status, code } = isRetailPosError(error)
      ? error
      : { status: HttpStatus.INTERNAL_SERVER_ERROR, code: "error" };
    if (status >= 500) logger.error(error);
    showProblem(req, res.status(status), code, error);
  }
}

/** A login that failed, or Nest's own. The developer's words go to the log. */
function showHttp(error: HttpException, req: Request, res: Response): void {
  const { code, message } = Object(error.getResponse());
  res.status(error.getStatus());
  if (!code) showProblem(req, res, error.getStatus() === 404 ? "not_found" : "error");
  else if (isLoggedInAlready(code, req.query["domain_prefix"], req.user?.domainPrefix))
    res.redirect("/products");
  else {
    logger.warn(`A login failed, ${code}: ${message}`);
    showProblem(req, res, code);
  }
}
