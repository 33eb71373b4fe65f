import { type ArgumentsHost, Catch, HttpException, HttpStatus, Logger } from "@nestjs/common";
import { BaseExceptionFilter } from "@nestjs/core";
import { isRetailPosError } from "@retail-pos/core";
import type { Request, Response } from "express";

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
  if (error instanceof HttpException) {
    const { code, message } = Object(error.getResponse());
    res.status(error.getStatus());
    if (code) res.render("login-failed", { code, message, status: error.getStatus() });
    else
      res.render("problem", { code: error.getStatus() === 404 ? "not_found" : "error", store: storeOf(req) });
    return;
  }
  const { status, code } = isRetailPosError(error)
    ? error
    : { status: HttpStatus.INTERNAL_SERVER_ERROR, code: "error" };
  if (status >= 500) logger.error(error);
  res.status(status).render("problem", { code, store: storeOf(req) });
}

const storeOf = ({ user }: Request) => user?.domainPrefix;
