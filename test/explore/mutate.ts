import { readFileSync } from "node:fs";
import { filesIn } from "../support/files.js";
import { root } from "../support/sources.js";
import type { Change } from "./core.js";
import type { Mutant } from "./mutants.js";

/**
 * The change that makes a mutant.
 *
 * @throws {Error} its text stands nowhere in core's source, or in more places than it says.
 */
export function changeFor(mutant: Mutant): Change {
  const { name, from, to, nth } = mutant;
  const places = sources().flatMap(([file, source]) => placesOf(from, source).map((at) => ({ file, at })));
  const place = places[nth ?? 0];
  if (!place || (nth === undefined && places.length > 1))
    throw new Error(`Mutant "${name}": its text stands ${places.length} times in core's source`);
  return (source, file) => {
    if (!file.endsWith(place.file)) return source;
    return source.slice(0, place.at) + to + source.slice(place.at + from.length);
  };
}

function sources(): [file: string, source: string][] {
  const files = filesIn("packages/core/src").filter((file) => !file.includes(".test."));
  return files.map((file) => [`/${file}`, readFileSync(root + file, "utf8")]);
}

function placesOf(text: string, source: string): number[] {
  const places: number[] = [];
  for (let at = source.indexOf(text); at >= 0; at = source.indexOf(text, at + 1)) places.push(at);
  return places;
}
