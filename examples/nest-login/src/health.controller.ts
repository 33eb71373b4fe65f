import { Controller, Get, Inject, Optional, Res } from "@nestjs/common";
import type { RetailPos } from "@retail-pos/core";
import type { Response } from "express";
import { CLIENT, STOPPING } from "./client.js";
import { isReady } from "./ready.js";

/** For whoever watches the process, and for whoever sends people to it. */
@Controller()
export class HealthController {
  readonly #client: RetailPos;
  readonly #stopping: AbortSignal | undefined;

  constructor(@Inject(CLIENT) client: RetailPos, @Optional() @Inject(STOPPING) stopping?: AbortSignal) {
    this.#client = client;
    this.#stopping = stopping;
  }

  @Get("health")
  health() {
    return { status: "ok" };
  }

  @Get("ready")
  async ready(@Res({ passthrough: true }) res: Response) {
    const ready = await isReady(this.#client, this.#stopping);
    res.status(ready ? 200 : 503);
    return { status: ready ? "ready" : "not ready" };
  }
}
