import { Controller, Get, Inject, Post, Redirect, Render, Req, Res } from "@nestjs/common";
import type { RetailPos } from "@retail-pos/core";
import type { Request, Response } from "express";
import { CLIENT } from "./client.js";

interface Product {
  name: string;
  sku: string;
  price: string;
  currency: string;
  in_stock: number;
}

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
    const answer = await retailPos.fetch("api/products");
    if (!answer.ok) throw new Error(`The products could not be read: the API answered ${answer.status}`);
    const { data } = (await answer.json()) as { data: Product[] };
    const { expiresAt } = await retailPos.token();
    return { store: retailPos.domainPrefix, products: data, expiresAt };
  }

  @Post("logout")
  @Redirect("/")
  async logOut(@Req() req: Request): Promise<void> {
    await new Promise<void>((resolve, reject) => req.logout((error) => (error ? reject(error) : resolve())));
  }

  @Post("disconnect")
  @Redirect("/")
  async disconnect(@Req() req: Request): Promise<void> {
    if (req.user) await this.#client.disconnect(req.user.domainPrefix);
    await this.logOut(req);
  }
}
