// Writes docs/api from the published types and their docstrings, a page per entry point of each package: `pnpm api`.
// A public name without a docstring, or a link in one that leads nowhere, is an error. With a folder as argument
// it writes there.
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { Application, ReflectionKind } from "typedoc";

const root = fileURLToPath(new URL("../..", import.meta.url)).replace(/\/$/, "");
const out = process.argv[2] ?? `${root}/docs/api`;
const names = namesByTypes();
/** "(4.3)", "(behaviour 7)", "(R4)", "(4.2, 4.3)": sections of the specification and rows of docs/service.md. */
const OUR_NUMBERS = /\s\((?:(?:behaviours? |section )?[R\d][\d.]*(?:, |, and | and |; )?)+\)/g;

const app = await Application.bootstrapWithPlugins({
  // By address: typedoc looks for a name beside itself, and finds it where it happens to be installed.
  plugin: ["typedoc-plugin-markdown", "typedoc-plugin-missing-exports"].map((name) =>
    fileURLToPath(import.meta.resolve(name)),
  ),
  placeInternalsInOwningModule: true, // types that are not exported, but whose members are options all the same
  tsconfig: `${root}/scripts/api/tsconfig.json`,
  basePath: root,
  entryPoints: [...names.keys()].map((types) => `${root}/${types}`),
  out,
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
for (const { comment } of project.getReflectionsByKind(ReflectionKind.All)) tidy(comment);
for (const owner of project.getReflectionsByKind(ReflectionKind.ClassOrInterface)) leaveOut(owner);
app.validate(project);
if (!app.logger.hasWarnings()) await app.generateOutputs(project);
if (app.logger.hasWarnings() || app.logger.hasErrors()) process.exit(1);
for (const page of readdirSync(out, { recursive: true, encoding: "utf8" }).filter(isPage))
  shorten(`${out}/${page}`);

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

/** Leaves out what stands where it is inherited from, and the constructors of errors: no application makes one. */
function leaveOut(owner) {
  const isError = owner.name.endsWith("Error");
  const stays = ({ inheritedFrom, kind }) =>
    !inheritedFrom && !(isError && kind === ReflectionKind.Constructor);
  for (const member of (owner.children ?? []).filter((each) => !stays(each)))
    project.removeReflection(member);
  for (const group of owner.groups ?? []) group.children = group.children.filter(stays);
  owner.groups = owner.groups?.filter(({ children }) => children.length > 0);
}

function isPage(file) {
  return file.endsWith(".md");
}

/** Takes out lines, repeated titles, and what the signature says: a type without a word, what a member overrides. */
function shorten(page) {
  const text = readFileSync(page, "utf8")
    .replace(/\n\*\*\*\n/g, "")
    .replace(/#+ Returns\n\n[^\n]+\n\n?(?=#|$)/g, "")
    .replace(/#+ (?:Overrides|Inherited from)\n\n[^\n]+\n\n?/g, "")
    .replace(/#+ Type Parameters\n\n\| Type Parameter \|\n[^\n]+\n(?:\|[^\n]+\n)+\n?/g, "")
    .replace(/(?<=\n(#+ Throws)\n\n(?:(?!#)[^\n]*\n)+)\1\n\n/g, "");
  writeFileSync(page, `${text.trimEnd()}\n`);
}

/** Names the class behind `@throws`, which the pages would leave out, and drops numbers of our own documents. */
function tidy(comment) {
  for (const tag of comment?.blockTags ?? []) {
    const thrown = tag.tag === "@throws" && tag.typeAnnotation?.replace(/^\{|\}$/g, "");
    if (thrown) tag.content.unshift({ kind: "code", text: `\`${thrown}\`` }, { kind: "text", text: " " });
  }
  const parts = [comment?.summary ?? [], ...(comment?.blockTags ?? []).map(({ content }) => content)].flat();
  for (const part of parts) if (part.kind === "text") part.text = part.text.replace(OUR_NUMBERS, "");
}
