import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { filesIn } from "./support/files.js";
import { root } from "./support/sources.js";

// The plans of docs/architecture.md, the lowest floor first: a file imports its own room and rooms on lower floors.
// Rooms on one floor do not know each other. A package without a plan is one room.

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
    ["commands", "doctor/findings", "doctor/probe.ts"],
    ["doctor/checks"],
    ["doctor/doctor.ts"],
    ["doctor/command.ts"],
    ["main.ts"],
    ["bin.ts"],
  ],
  login: [
    ["values", "failures", "node-handler.ts", "unmeant-visit.ts"],
    ["pending"],
    ["callback", "cookies"],
    ["flow.ts"],
    ["web-login.ts", "parts.ts"],
    ["index.ts"],
  ],
  "passport-retail-pos": [
    ["hooks", "request", "state-keeper.ts", "login-failure.ts"],
    ["state", "options.ts"],
    ["settings.ts"],
    ["handle-request.ts"],
    ["strategy.ts"],
    ["require.ts"],
    ["index.ts"],
  ],
  sandbox: [
    ["http", "stores", "secrets.ts", "virtual-clock.ts", "visitor.ts"],
    ["tokens", "traffic"],
    ["logins"],
    ["options.ts"],
    ["service"],
    ["controls.ts"],
    ["console"],
    ["sandbox.ts"],
    ["index.ts", "bin.ts"],
  ],
};

const MOST = 12;

const packages = readdirSync(`${root}packages`);
const sourcesOf = (name: string) =>
  filesIn(`packages/${name}/src`).filter((file) => !file.endsWith(".test.ts"));

test.each(packages)(`no folder of %s has more than ${MOST} source files`, (name) => {
  const counts = new Map<string, number>();
  for (const file of sourcesOf(name)) counts.set(dirname(file), (counts.get(dirname(file)) ?? 0) + 1);
  expect(counts.size).toBeGreaterThan(0);
  expect([...counts].filter(([, count]) => count > MOST)).toEqual([]);
});

test.each(packages.filter((name) => !(name in PLANS)))("%s is one room", (name) => {
  expect(new Set(sourcesOf(name).map(dirname))).toEqual(new Set([`packages/${name}/src`]));
});

describe.each(Object.entries(PLANS))("in %s", (name, floors) => {
  const source = `packages/${name}/src`;
  const files = sourcesOf(name);
  const rooms = floors.flat();
  const roomOf = (file: string) =>
    rooms.find((room) => `${file}/`.startsWith(`${source}/${room}/`)) ?? `none: ${file}`;
  const floorOf = (room: string) => floors.findIndex((each) => each.includes(room));

  test("each file lies in a room of the plan", () => {
    expect(new Set(files.map(roomOf))).toEqual(new Set(rooms));
  });

  test("imports go to the same room or to a lower floor", () => {
    expect(files.flatMap(importsOf).length).toBeGreaterThan(30);
    const against = files.flatMap((file) => {
      const from = roomOf(file);
      return [...new Set(importsOf(file).map(roomOf))]
        .filter((to) => to !== from && floorOf(to) >= floorOf(from))
        .map((to) => `${from} -> ${to} ${file}`);
    });
    expect(against).toEqual([]);
  });
});

/** The files of a package that a file names in an import, for a value or for a type. */
function importsOf(file: string): string[] {
  const code = readFileSync(root + file, "utf8");
  return [...code.matchAll(/(?:from |import\()"(\.[^"]+)\.js"/g)]
    .map(([, name]) => `${join(dirname(file), name ?? "")}.ts`)
    .filter((imported) => imported.startsWith(file.split("/").slice(0, 2).join("/")));
}
