import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { filesIn } from "./support/files.js";
import { root } from "./support/sources.js";

// The plan of docs/architecture.md: a file imports its own room and rooms on lower floors. Rooms on one floor do not
// know each other.

const SOURCE = "packages/core/src";
const FLOORS = [
  ["vocabulary", "secrets", "platform"],
  ["settings", "store"],
  ["endpoint", "client"],
  ["tokens"],
  ["login", "fleet"],
  ["retail-pos.ts"],
  ["bearer"],
  ["index.ts"],
];
const files = filesIn(SOURCE).filter((file) => !file.endsWith(".test.ts"));
const roomOf = (file: string) => file.slice(SOURCE.length + 1).split("/")[0] as string;
const floorOf = (room: string) => FLOORS.findIndex((rooms) => rooms.includes(room));

test("each file of core lies in a room of the plan", () => {
  expect(new Set(files.map(roomOf))).toEqual(new Set(FLOORS.flat()));
});

test("imports go to the same room or to a lower floor", () => {
  expect(files.flatMap(importsOf).length).toBeGreaterThan(200);
  const against = files.flatMap((file) => {
    const from = roomOf(file);
    const rooms = new Set(importsOf(file).map(roomOf));
    return [...rooms]
      .filter((to) => to !== from && floorOf(to) >= floorOf(from))
      .map((to) => `${from} -> ${to} ${file}`);
  });
  expect(against).toEqual([]);
});

test("no room has more than twelve source files", () => {
  const crowded = FLOORS.flat().filter((room) => files.filter((file) => roomOf(file) === room).length > 12);
  expect(crowded).toEqual([]);
});

/** The files of core that a file names in an import, for a value or for a type. */
function importsOf(file: string): string[] {
  const code = readFileSync(root + file, "utf8");
  return [...code.matchAll(/(?:from |import\()"(\.[^"]+)\.js"/g)].map(
    ([, name]) => `${join(dirname(file), name ?? "")}.ts`,
  );
}
