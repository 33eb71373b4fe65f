import { existsSync } from "node:fs";

/** Where the browser is: `CHROMIUM` if set, else where Debian and its kin put it. */
export function findChromium(): string | undefined {
  const places = [
    process.env["CHROMIUM"],
    "/usr/bin/chromium",
    "/usr/bin/chromium-browser",
    "/snap/bin/chromium",
  ];
  return places.find((place) => place !== undefined && existsSync(place));
}

/** Nothing of a browser's own business may reach for the network. */
export const CHROMIUM_FLAGS = [
  "--headless",
  "--no-sandbox",
  "--disable-gpu",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];
