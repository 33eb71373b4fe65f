import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const run = promisify(execFile);
/** What a run writes: it is no change of what was measured. */
const WRITTEN = [
  "bench/results.json",
  "bench/RESULTS.md",
  "docs/performance.md",
  "docs/performance.svg",
  "docs/comparison.md",
];

/**
 * Which commit is measured, and whether the files differ from it.
 *
 * @param folder a URL inside the repository.
 * @returns {Promise<string>} such as `8181d75`, `8181d75 with changes`, or `unknown` where git does not say.
 */
export async function commitOf(folder) {
  const git = async (...asked) =>
    (await run("git", asked, { cwd: fileURLToPath(new URL("../", folder)) })).stdout.trim();
  try {
    const commit = await git("rev-parse", "--short=7", "HEAD");
    const changes = await git("status", "--porcelain", "--", ".", ...WRITTEN.map((file) => `:!${file}`));
    return changes === "" ? commit : `${commit} with changes`;
  } catch {
    return "unknown";
  }
}
