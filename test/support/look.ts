import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { AxeResults } from "axe-core";
import type { Page } from "playwright-core";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** A small phone, a phone and a screen, in pixels. */
const WIDTHS = [320, 390, 1280];

/**
 * Looks at an open page in both colour schemes and at each width.
 *
 * @returns each fault that axe finds, and "scrolls sideways" if the page is wider than its window.
 */
export async function faultsSeenOn(page: Page): Promise<string[]> {
  const faults: string[] = [];
  await page.evaluate(axe); // not a script element, which the page's policy may refuse
  for (const width of WIDTHS) {
    for (const colorScheme of ["light", "dark"] as const) {
      await page.setViewportSize({ width, height: 720 });
      await page.emulateMedia({ colorScheme, reducedMotion: "reduce" }); // no colour is on its way to another one
      const found = [...(await widthFault(page)), ...(await axeFaults(page))];
      faults.push(...found.map((fault) => `${width} px, ${colorScheme}: ${fault}`));
    }
  }
  return faults;
}

async function widthFault(page: Page): Promise<string[]> {
  const isTooWide = await page.evaluate<boolean>("document.documentElement.scrollWidth > window.innerWidth");
  return isTooWide ? ["scrolls sideways"] : [];
}

async function axeFaults(page: Page): Promise<string[]> {
  const { violations } = await page.evaluate<AxeResults>("axe.run()");
  return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(" ")}`);
}
