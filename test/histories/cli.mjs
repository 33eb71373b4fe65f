// pnpm histories [name ...]: plays them, one after the other, and prints the table of docs/guarantees.md.
import { HISTORIES, isPossible, unexplained } from "./engines.mjs";

const named = process.argv.slice(2);
console.log("| engine | fault | tokens issued | retailers lost, of 8 | why |\n|---|---|---|---|---|");
for (const one of HISTORIES) {
  if (named.length > 0 && !named.includes(one.name)) continue;
  if (!isPossible(one)) {
    console.log(`| ${one.engine} | ${one.fault} | | | this machine lacks what it needs |`);
    continue;
  }
  const { issued, lost } = await one.run();
  const isExplained = unexplained(one, lost).length === 0;
  const why = lost.length > 0 ? (isExplained ? one.window : "NOBODY KNOWS") : "";
  console.log(`| ${one.engine} | ${one.fault} | ${issued} | ${lost.length} | ${why} |`);
  if (!isExplained) process.exitCode = 1;
}
