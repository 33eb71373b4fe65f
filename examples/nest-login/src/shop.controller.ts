import { Controller, Get, Inject, Post, Redirect, Render, Req, Res } from "@nestjs/common";
import type { RetailPos } from "@retail-pos/core";
import type { Request, Response } from "express";
import { CLIENT } from "./client.js";
import { readShelves } from "./shelves.js";

/** The pages. */
@Controller()
export class ShopController {
  readonly #client: RetailPos;

  constructor(@Inject(CLIENT) client: RetailPos) {
    this.#client = client;
  }

  @Get()
  welcome(@Req() req: Request, @Res() res: Response): void {
    if (req.user) res.redirect("/products");
    else res.render("welcome");
  }

  /** Behind `bearer()`: see the module. */
  @Get("products")
  @Render("products")
  async products(@Req() { retailPos }: Request) {
    return { store: retailPos.domainPrefix, shelves: await readShelves(retailPos) };
  }

  @Post("logout")
  @Redirect("/")
  async logOut(@Req() req: Request): Promise<void> {
    await new Promise<void>((resolve, reject) => req.logout((error) => (error ? reject(error) : resolve())));
  }

  /** Asks first. */
  @Get("disconnect")
  askToDisconnect(@Req() { user }: Request, @Res() res: Response): void {
    if (user) res.render("disconnect", { store: user.domainPrefix });
    else res.redirect("/");
  }

  @Post("disconnect")
  @Redirect("/")
  async disconnect(@Req() req: Request): Promise<void> {
    if (req.user) await this.#client.disconnect(req.user.domainPrefix);
    await this.logOut(req);
  }
}
