import { readFile, writeFile } from "node:fs/promises";

const OURS = "ours";

/**
 * What is kept of a scenario: everything that does not depend on the machine.
 *
 * @param ran `{ rounds, node, commit }`: how often, on which Node, of which commit.
 */
export function resultOf({ id, title, floor, figures, targets = [] }, rows, ran) {
  const checked = targets.map((target) => ({ ...target, reached: reached(target, rows) }));
  return { id, title, floor, figures, ran, targets: checked, rows: rounded(rows) };
}

function reached({ figure, atMost, atLeast, exactly, noMoreThan, row = OURS }, rows) {
  const value = rows[row]?.[figure];
  if (exactly !== undefined) return value === exactly;
  if (typeof value !== "number") return false;
  if (noMoreThan !== undefined) return value <= rows[noMoreThan]?.[figure];
  return (atMost === undefined || value <= atMost) && (atLeast === undefined || value >= atLeast);
}

function rounded(rows) {
  const round = (value) => (typeof value === "number" ? Math.round(value * 1000) / 1000 : (value ?? null));
  return Object.fromEntries(
    Object.entries(rows).map(([row, figures]) => [
      row,
      Object.fromEntries(Object.entries(figures).map(([figure, value]) => [figure, round(value)])),
    ]),
  );
}

/** A document with a table for each scenario. */
export function allDetails(results) {
  const heading = "# Results\n\nWritten by `pnpm bench`; [what they mean](../docs/performance.md).";
  return `${[heading, ...results.map(details)].join("\n\n")}\n`;
}

/**
 * A line for each aim; the first line of a scenario names it. Rows of ours with one aim for one figure share a line; if
 * the others have another aim, the line names its rows.
 */
export function summary(results) {
  const lines = results.flatMap((result) => {
    const aimed = result.targets.map((target) => ({ ...target, aim: aimOf(target, result) }));
    const isFirst = ({ figure, aim }, index) =>
      aimed.findIndex((other) => other.figure === figure && other.aim === aim) === index;
    return aimed.filter(isFirst).map(({ figure, aim }, index) => {
      const same = aimed.filter((other) => other.figure === figure && other.aim === aim);
      const isOneOfSeveral = aimed.some((other) => other.figure === figure && other.aim !== aim);
      const names = isOneOfSeveral ? ` (token store: ${same.map(({ row = OURS }) => row).join(", ")})` : "";
      return [
        index === 0 ? result.title : "",
        result.figures[figure] + names,
        `**${range(same.map(({ row = OURS }) => result.rows[row]?.[figure]))}**`,
        `${aim} ${same.every(({ reached }) => reached) ? "✓" : "✗"}`,
      ];
    });
  });
  const ours = "our result (a range if it covers several token stores or Node versions)";
  return table([["scenario", "figure", ours, "aim"], ...lines]);
}

const aimOf = (target, { rows }) => aim(target, shown(rows[target.noMoreThan]?.[target.figure]));

function range(values) {
  const [first, ...more] = [...new Set([...values].sort((one, other) => one - other).map(shown))];
  return more.length === 0 ? first : `${first} to ${more.at(-1)}`;
}

/** Runs of one scenario that differ in their seed, in one table: in each cell a number for each. */
export function sideBySide(results) {
  const [{ figures, rows }] = results;
  const lines = Object.keys(rows).map((row) => [
    nameOf(row),
    ...Object.keys(figures).map((figure) =>
      results.map((result) => shown(result.rows[row]?.[figure])).join(" · "),
    ),
  ]);
  const runs = results.map(({ id, ran }) => `\`${id}\` (commit ${ran.commit}, ${ran.date})`);
  const how = `Node ${results[0].ran.node.replace("v", "")}, \`pnpm bench\` with ${runs.join(", ")}.`;
  return `${table([["", ...Object.values(figures)], ...lines])}\n\n${how}`;
}

const nameOf = (row) => (row.startsWith(OURS) ? `**${row}**` : row);

export function details({ id, title, floor, figures, ran, rows }) {
  const keys = Object.keys(figures);
  const lines = Object.entries(rows).map(([row, values]) => [
    nameOf(row),
    ...keys.map((key) => shown(values[key])),
  ]);
  const heading = `## ${title[0].toUpperCase()}${title.slice(1)}`;
  const rounds = ran.rounds === 1 ? "one round" : `${ran.rounds} rounds`;
  const how = `\`pnpm bench --print ${id}\`: ${rounds} on Node ${ran.node.replace("v", "")}, commit ${ran.commit}. The floor: ${floor}.`;
  return `${heading}\n\n${how}\n\n${table([["", ...Object.values(figures)], ...lines])}`;
}

function aim({ atMost, atLeast, exactly, noMoreThan }, value) {
  if (noMoreThan !== undefined) return `≤ ${value}: the same ratio for ${noMoreThan} alone`;
  if (exactly !== undefined) return exactly.toLocaleString("en");
  if (atLeast !== undefined && atMost !== undefined) return `from ${atLeast} to ${atMost}`;
  return atLeast !== undefined ? `≥ ${atLeast}` : `≤ ${atMost.toLocaleString("en")}`;
}

function shown(value) {
  if (value === null || value === undefined) return "–";
  if (typeof value !== "number") return String(value);
  return Number.isInteger(value) ? value.toLocaleString("en") : value.toFixed(value < 100 ? 2 : 0);
}

function table([head, ...lines]) {
  const align = head.map((_, column) => (column === 0 ? "---" : "---:"));
  return [head, align, ...lines].map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}

const BEGIN = "<!-- figures: written by `pnpm bench` -->";
const END = "<!-- /figures -->";

/** Puts the text between the two markers of a document, and leaves the rest as it is. */
export async function writeBetweenMarkers(file, text) {
  const document = await readFile(file, "utf8");
  const [before, rest] = document.split(BEGIN);
  const after = rest?.split(END)[1];
  if (after === undefined) throw new Error(`${file} has lost its markers ${BEGIN} … ${END}`);
  await writeFile(file, `${before}${BEGIN}\n\n${text}\n\n${END}${after}`);
}
