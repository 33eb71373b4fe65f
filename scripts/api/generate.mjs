// Writes docs/api from the published types and their docstrings, a page per entry point of each package: `pnpm api`.
// A public name without a docstring, or a link in one that leads nowhere, is an error. With a folder as argument
// it writes there.
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { Application, ReflectionKind } from "typedoc";

const root = fileURLToPath(new URL("../..", import.meta.url)).replace(/\/$/, "");
const names = namesByTypes();

const app = await Application.bootstrapWithPlugins({
  // By address: typedoc looks for a name beside itself, and finds it where it happens to be installed.
  plugin: ["typedoc-plugin-markdown", "typedoc-plugin-missing-exports"].map((name) =>
    fileURLToPath(import.meta.resolve(name)),
  ),
  placeInternalsInOwningModule: true, // types that are not exported, but whose members are options all the same
  tsconfig: `${root}/scripts/api/tsconfig.json`,
  basePath: root,
  entryPoints: [...names.keys()].map((types) => `${root}/${types}`),
  out: process.argv[2] ?? `${root}/docs/api`,
  name: "API reference",
  readme: `${root}/scripts/api/introduction.md`,
  mergeReadme: true,

  sort: ["source-order"],
  groupOrder: ["Functions", "Interfaces", "Type Aliases", "Classes"],
  excludeExternals: true, // what Error, and passport's own classes, say about themselves
  excludePrivate: true,
  excludeInternal: true,
  disableSources: true, // a page that names lines changes with every edit above them
  preservedTypeAnnotationTags: ["@throws"],
  validation: { notDocumented: true, notExported: false, invalidLink: true },
  packagesRequiringDocumentation: [...new Set([...names.values()].map(packageOf))],

  router: "module",
  excludeScopesInPaths: true,
  hidePageHeader: true,
  hideBreadcrumbs: true,
  parametersFormat: "table",
  interfacePropertiesFormat: "table",
  classPropertiesFormat: "table",
  typeDeclarationFormat: "table",
  expandObjects: true,
});

const project = await app.convert();
if (!project) process.exit(1);
for (const module of project.children) {
  module.name = names.get(`${module.name}/index.d.ts`) ?? names.get(`${module.name}.d.ts`);
  for (const group of module.groups) group.children.sort((one, other) => one.name.localeCompare(other.name));
}
for (const { comment } of project.getReflectionsByKind(ReflectionKind.All)) nameTheThrown(comment);
app.validate(project);
if (!app.logger.hasWarnings()) await app.generateOutputs(project);
if (app.logger.hasWarnings() || app.logger.hasErrors()) process.exit(1);

/** Every entry point of every package: its published types, and the name it is imported by. */
function namesByTypes() {
  const found = new Map();
  for (const folder of readdirSync(`${root}/packages`)) {
    const { name, exports } = JSON.parse(readFileSync(`${root}/packages/${folder}/package.json`, "utf8"));
    for (const [path, { types }] of Object.entries(exports)) {
      found.set(`packages/${folder}/${types.slice(2)}`, name + path.slice(1));
    }
  }
  return found;
}

function packageOf(name) {
  return name.split("/", name.startsWith("@") ? 2 : 1).join("/");
}

/** The class behind `@throws`, which the pages would leave out. */
function nameTheThrown(comment) {
  for (const { typeAnnotation, content } of comment?.getTags("@throws") ?? []) {
    const name = typeAnnotation?.replace(/^\{|\}$/g, "");
    if (name) content.unshift({ kind: "code", text: `\`${name}\`` }, { kind: "text", text: " " });
  }
}
