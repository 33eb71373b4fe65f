// Packages of many small files are published as one: Node takes longer to find a file than to run it, and
// everybody's application starts with ours. Declarations stay as tsc writes them.
import { rolldown } from "rolldown";

for (const name of ["core", "passport-retail-pos"]) {
  const folder = `packages/${name}`;
  const bundle = await rolldown({
    input: `${folder}/src/index.ts`,
    external: /^[^./]/, // dependencies stay imports
    platform: "node",
    transform: { target: "node20.19" },
  });
  await bundle.write({ file: `${folder}/dist/index.js`, format: "esm" });
  await bundle.close();
}
