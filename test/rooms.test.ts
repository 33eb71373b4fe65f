import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { filesIn } from "./support/files.js";
import { root } from "./support/sources.js";

// The plan of docs/architecture.md: a file imports its own room and rooms on lower floors. Rooms on one floor do not
// know each other.

const PLANS: Record<string, string[][]> = {
  core: [
    ["vocabulary", "secrets", "platform"],
    ["settings", "store"],
    ["endpoint", "client"],
    ["tokens"],
    ["login", "fleet"],
    ["retail-pos.ts"],
    ["bearer"],
    ["index.ts", "authoring.ts"],
  ],
  cli: [
    ["terminal"],
    ["stores", "doctor/browser"],
    ["commands", "doctor/findings"],
    ["doctor/consent", "doctor/callback"],
    ["doctor/session"],
    ["doctor/doctor.ts"],
    ["doctor/command.ts"],
    ["main.ts"],
    ["bin.ts"],
  ],
};

describe.each(Object.entries(PLANS))("in %s", (name, floors) => {
  const source = `packages/${name}/src`;
  const files = filesIn(source).filter((file) => !file.endsWith(".test.ts"));
  const rooms = floors.flat();
  const roomOf = (file: string) =>
    rooms.find((room) => `${file}/`.startsWith(`${source}/${room}/`)) ?? `none: ${file}`;
  const floorOf = (room: string) => floors.findIndex((each) => each.includes(room));

  test("each file lies in a room of the plan", () => {
    expect(new Set(files.map(roomOf))).toEqual(new Set(rooms));
  });

  test("imports go to the same room or to a lower floor", () => {
    expect(files.flatMap(importsOf).length).toBeGreaterThan(100);
    const against = files.flatMap((file) => {
      const from = roomOf(file);
      return [...new Set(importsOf(file).map(roomOf))]
        .filter((to) => to !== from && floorOf(to) >= floorOf(from))
        .map((to) => `${from} -> ${to} ${file}`);
    });
    expect(against).toEqual([]);
  });

  test("no room has more than twelve source files", () => {
    const crowded = rooms.filter((room) => files.filter((file) => roomOf(file) === room).length > 12);
    expect(crowded).toEqual([]);
  });
});

/** The files of its package that a file names in an import, for a value or for a type. */
function importsOf(file: string): string[] {
  const code = readFileSync(root + file, "utf8");
  return [...code.matchAll(/(?:from |import\()"(\.[^"]+)\.js"/g)].map(
    ([, name]) => `${join(dirname(file), name ?? "")}.ts`,
  );
}
