// tsc never removes what it once wrote: without this a file that was moved or deleted stays in dist/, and is published.
import { existsSync, readdirSync, rmSync } from "node:fs";
import { fileURLToPath } from "node:url";

const packages = fileURLToPath(new URL("../packages", import.meta.url));

for (const name of readdirSync(packages)) {
  const dist = `${packages}/${name}/dist`;
  if (!existsSync(dist)) continue;
  for (const file of readdirSync(dist, { recursive: true, encoding: "utf8" })) {
    const [, path] = /^(.*?)(?:\.d\.ts|\.js)(?:\.map)?$/.exec(file) ?? [];
    if (path !== undefined && !existsSync(`${packages}/${name}/src/${path}.ts`)) rmSync(`${dist}/${file}`);
  }
}
