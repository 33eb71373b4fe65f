import { parse, textMetrics, View } from "vega";
import { compile } from "vega-lite";
import { slimSvg } from "./slim-svg.mjs";

const COLUMNS = 2;
const WIDTH = 300;
const OURS = "#0b6e4f";
/** Rows of ours to which the target of the panel does not apply. */
const OURS_BESIDE = "#8fc3b0";
const OTHERS = "#b9c0c8";
const FLOOR = "#6b7480";
const NAMES = { http: "HTTP" };
const INK = "#1f2933";
/** Without a canvas vega guesses how wide a text is, a third too much for these fonts, and leaves wide margins. */
textMetrics.width = (item, text) => 0.7 * textMetrics.estimateWidth(item, text);

/**
 * A picture of the results: a panel for each scenario with the first of its figures, ours in colour, a line at
 * the target. Rows for which the figure cannot be said are left out.
 *
 * @returns {Promise<string>} an SVG
 */
export async function plot(results) {
  const panels = results.map(panel).filter(({ data }) => data.values.length > 0);
  const specification = {
    $schema: "https://vega.github.io/schema/vega-lite/v6.json",
    background: "#ffffff",
    padding: 20,
    columns: COLUMNS,
    bounds: "flush", // without a canvas the width of a text is a guess
    spacing: { row: 96, column: 345 },
    concat: panels,
    resolve: { scale: { x: "independent", y: "independent" } },
    config: {
      font: "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif",
      view: { stroke: null },
      axis: {
        labelColor: INK,
        labelFontSize: 12,
        titleColor: FLOOR,
        titleFontSize: 11,
        titleFontWeight: "normal",
      },
      title: {
        color: INK,
        fontSize: 13,
        anchor: "start",
        frame: "group",
        subtitleColor: FLOOR,
        subtitleFontSize: 11,
      },
    },
  };
  const view = new View(parse(compile(specification).spec), { renderer: "none" });
  return `${slimSvg(await view.toSVG())}\n`;
}

function panel({ title, figures, targets, rows }) {
  const isNamed = Object.keys(rows).some((row) => row.startsWith("ours"));
  // A table of our stores names none of them; what they are held against is not ours.
  const isOurs = (row) =>
    isNamed ? row.startsWith("ours") : !targets.some(({ noMoreThan }) => noMoreThan === row);
  const figure = Object.keys(figures).find((key) => Object.values(rows).some((row) => isNumber(row[key])));
  const aimed = targets.filter((one) => one.figure === figure).map(({ row = "ours" }) => row);
  const colorOf = (row) => {
    if (!isOurs(row)) return OTHERS;
    return aimed.length === 0 || aimed.includes(row) ? OURS : OURS_BESIDE;
  };
  const values = Object.entries(rows)
    .filter(([, row]) => isNumber(row[figure]))
    .map(([row, { [figure]: value }]) => ({ row, value, label: label(value), color: colorOf(row) }));
  const target = targets.find((one) => one.figure === figure && isOurs(one.row ?? "ours"));
  const aim = target && (target.atMost ?? target.atLeast ?? target.exactly);
  const [scenario, ...what] = title.split(": ");
  const most = Math.max(...values.map(({ value }) => value), isNumber(aim) ? aim : 0);
  const x = {
    field: "value",
    type: "quantitative",
    scale: { domain: [0, (most || 1) * 1.02], nice: false },
    axis: null,
  };
  const y = {
    field: "row",
    type: "nominal",
    sort: null,
    axis: { title: null, domain: false, ticks: false, labelLimit: 0, labelPadding: 6 },
  };
  return {
    title: {
      text: what.length > 0 ? (NAMES[scenario] ?? `${scenario[0].toUpperCase()}${scenario.slice(1)}`) : title,
      subtitle: [
        ...wrapped(what.join(": ")),
        `${figures[figure]}${target ? `; target ${aimOf(target)}` : ""}`,
      ],
      offset: 10,
    },
    width: WIDTH,
    height: { step: 19 },
    data: { values },
    encoding: { y },
    layer: [
      {
        mark: { type: "bar", height: 13, cornerRadiusEnd: 2 },
        encoding: {
          x,
          color: { field: "color", type: "nominal", scale: null },
        },
      },
      {
        mark: { type: "text", align: "right", fontSize: 12, color: INK },
        encoding: { x: { value: WIDTH + 46 }, text: { field: "label" } },
      },
      ...(isNumber(aim) && aim > 0
        ? [
            {
              data: { values: [{ aim }] },
              mark: { type: "rule", color: "#c2410c", strokeWidth: 1.5, strokeDash: [4, 3] },
              encoding: { x: { ...x, field: "aim" }, y: null },
            },
          ]
        : []),
    ],
  };
}

const isNumber = (value) => typeof value === "number";

function label(value) {
  return Number.isInteger(value) ? value.toLocaleString("en") : value.toFixed(2);
}

function aimOf({ atMost, atLeast, exactly }) {
  if (atMost !== undefined) return `at most ${atMost}`;
  return atLeast !== undefined ? `at least ${atLeast}` : `${exactly}`;
}

/** Subtitles do not wrap by themselves. */
function wrapped(text, width = 62) {
  const lines = [""];
  for (const word of text.split(" ")) {
    if (`${lines.at(-1)} ${word}`.trim().length > width) lines.push("");
    lines[lines.length - 1] = `${lines.at(-1)} ${word}`.trim();
  }
  return lines.filter((line) => line !== "");
}
