// tsc never removes what it once wrote: without this a file that was moved or deleted stays in dist/, and is published.
import { existsSync, readdirSync, rmSync } from "node:fs";
import { fileURLToPath } from "node:url";

const packages = fileURLToPath(new URL("../packages", import.meta.url));

for (const name of readdirSync(packages)) {
  const dist = `${packages}/${name}/dist`;
  if (!existsSync(dist)) continue;
  for (const file of readdirSync(dist, { recursive: true, encoding: "utf8" })) {
    const source = file.replace(/(?:\.d\.ts|\.js)(?:\.map)?$/, ".ts");
    const isWritten = source !== file || file.endsWith(".json");
    if (isWritten && !existsSync(`${packages}/${name}/src/${source}`)) rmSync(`${dist}/${file}`);
  }
}
