import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Page } from "playwright-core";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** A small phone, a phone and a screen, in pixels. */
const WIDTHS = [320, 390, 1280];

/** How axe is run. It prepares a report of what it finds, and none of what is in order. */
const EVERY_RULE = { resultTypes: ["violations"], selectors: false };
const RULES_OF_COLOURS = { ...EVERY_RULE, runOnly: ["color-contrast", "link-in-text-block"] };

/**
 * Looks at an open page in both colour schemes and at each width. A scheme changes colours only: in the second one, the
 * rules that do not look at colours are left out at all widths but one.
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
      const rules = colorScheme === "light" || width === WIDTHS[0] ? EVERY_RULE : RULES_OF_COLOURS;
      const found = [...(await widthFault(page)), ...(await axeFaults(page, rules))];
      faults.push(...found.map((fault) => `${width} px, ${colorScheme}: ${fault}`));
    }
  }
  return faults;
}

async function widthFault(page: Page): Promise<string[]> {
  const isTooWide = await page.evaluate<boolean>("document.documentElement.scrollWidth > window.innerWidth");
  return isTooWide ? ["scrolls sideways"] : [];
}

async function axeFaults(page: Page, options: object): Promise<string[]> {
  return page.evaluate(`axe.run(${JSON.stringify(options)}).then(({ violations }) =>
    violations.map(({ id, nodes }) => id + ": " + nodes.map(({ html }) => html).join(" ")))`);
}
