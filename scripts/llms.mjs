// Writes llms.txt from the README, for programs that read documentation: `pnpm llms`. What the project is, then a list
// of links with a heading for each group, as llmstxt.org has it.
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const HOME = "https://github.com/retail-pos/auth/blob/main/";

/** @param {string} readme */
export function llmsText(readme) {
  const [title, summary, whom] = readme.split("\n\n");
  const section = (heading) => readme.split(`\n## ${heading}\n`)[1]?.split("\n## ")[0] ?? "";
  const packages = section("Packages")
    .split("\n")
    .flatMap((row) => {
      const [, names, what] = /^\| (\[.*?) \| (.*) \|$/.exec(row) ?? [];
      return names ? linksIn(names).map((link) => `- ${link}: ${what}`) : [];
    });
  const groups = section("Documents")
    .split("\n")
    .flatMap((line) => {
      const [, group, links] = /^- \*\*(.*?)\*\*: (.*)$/.exec(line) ?? [];
      return group ? [`\n## ${group}\n`, ...linksIn(links).map((link) => `- ${link}`)] : [];
    });
  return [
    title,
    `\n> ${summary}\n`,
    absolute(whom.split(" Without this")[0]),
    "\n## Packages\n",
    ...packages,
    ...groups,
    "",
  ].join("\n");
}

function linksIn(text) {
  return (text.match(/\[[^\]]+\]\([^)]+\)/g) ?? []).map(absolute);
}

function absolute(text) {
  return text.replace(/\]\((?!https?:)/g, `](${HOME}`);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const at = (name) => fileURLToPath(new URL(`../${name}`, import.meta.url));
  writeFileSync(at("llms.txt"), llmsText(readFileSync(at("README.md"), "utf8")));
}
