// Packages of many small files are published as one: Node takes longer to find a file than to run it, and
// everybody's application starts with ours. Declarations stay as tsc writes them.
import { rolldown } from "rolldown";

const entries = { core: ["index", "authoring"], login: ["index"], "passport-retail-pos": ["index"] };

for (const [name, files] of Object.entries(entries)) {
  const folder = `packages/${name}`;
  const bundle = await rolldown({
    input: Object.fromEntries(files.map((file) => [file, `${folder}/src/${file}.ts`])),
    external: /^[^./]/, // dependencies stay imports
    platform: "node",
    transform: { target: "node20.19" },
  });
  const { output } = await bundle.write({
    dir: `${folder}/dist`,
    format: "esm",
    sourcemap: true,
    chunkFileNames: "shared.js", // what two entries import
    minifyInternalExports: false,
    // V8 reads them too, at every start. The declarations carry the docstrings.
    comments: { legal: true, annotation: true, jsdoc: false },
  });
  await bundle.close();
  // One letter beyond ASCII doubles what V8 has to read, and the start of every program takes longer.
  const odd = output.find(({ code }) => /[^\n\t\x20-\x7e]/.test(code));
  if (odd) throw new Error(`${folder}/dist/${odd.fileName} holds a letter that is not ASCII`);
}
