import { execFile } from "node:child_process";
import { promisify } from "node:util";

/**
 * A Node of that major version, which npm fetches where it is not there yet; without one, the Node that runs this.
 *
 * @returns {Promise<{ execPath: string, version: string }>}
 */
export async function nodeOf(major) {
  if (major === undefined) return { execPath: process.execPath, version: process.version };
  const said = "JSON.stringify([process.execPath, process.version])";
  const { stdout } = await promisify(execFile)("npx", ["-y", `node@${major}`, "-p", said]);
  const [execPath, version] = JSON.parse(stdout);
  return { execPath, version };
}
