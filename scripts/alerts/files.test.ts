import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { COUNTERS, GAUGES, HISTOGRAMS } from "../../packages/opentelemetry/src/metric-definitions.js";
import { ALERTS } from "./alerts.js";
import { runbookOf } from "./alerts-file.js";
import { monitoringFiles } from "./files.js";

const root = fileURLToPath(new URL("../..", import.meta.url));
const read = (path: string) => readFileSync(root + path, "utf8");
const files = monitoringFiles(read);

describe("what is made from the tables is in git as it is made (else: `pnpm alerts`):", () => {
  test.each([...files.keys()])("%s", (path) => {
    expect(read(path)).toBe(files.get(path));
  });

  test("a document without the markers is an error, and nothing is lost", () => {
    expect(() => monitoringFiles(() => "# A document")).toThrow(/There is no/);
  });
});

describe("the dashboard", () => {
  interface Panel {
    id: number;
    type: string;
    title: string;
    gridPos: { x: number; y: number; w: number; h: number };
    targets?: { expr: string; refId: string }[];
  }
  const dashboard = JSON.parse(files.get("packages/opentelemetry/dashboard.json") as string);
  const panels: Panel[] = dashboard.panels;

  test("shows every metric and every rule", () => {
    const asked = panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr)).join("\n");
    for (const { name } of [COUNTERS, HISTOGRAMS, GAUGES].flatMap((metrics) => Object.values(metrics)))
      expect(asked).toContain(name.replaceAll(".", "_"));
    const titles = panels.map(({ title }) => title);
    expect(titles).toEqual(expect.arrayContaining(ALERTS.map(({ name }) => name)));
  });

  test("has each panel in a place of its own, within the width", () => {
    const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, at) => `${x + (at % w)},${y + Math.floor(at / w)}`),
    );
    expect(new Set(cells).size).toBe(cells.length);
    for (const { gridPos } of panels) expect(gridPos.x + gridPos.w).toBeLessThanOrEqual(24);
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
  });
});

describe("every rule has its runbook:", () => {
  const runbooks = read("docs/runbooks.md");
  const sections = runbooks.split(/^## /m).slice(1);

  test.each(ALERTS.map((rule) => [rule.name, rule] as const))("%s", (name, rule) => {
    expect(runbookOf(rule)).toBe(`docs/runbooks.md#${name.toLowerCase()}`);
    const section = sections.find((text) => text.startsWith(`${name}\n`)) ?? "";
    for (const part of ["What it means.", "Which retailers.", "What to do.", "What not to do."])
      expect(section).toContain(`**${part}**`);
  });

  test("and every runbook its rule", () => {
    const ofRules = sections
      .map((text) => text.split("\n")[0] ?? "")
      .filter((name) => /^RetailPos\w+$/.test(name));
    expect(ofRules.sort()).toEqual(ALERTS.map(({ name }) => name).sort());
  });
});
