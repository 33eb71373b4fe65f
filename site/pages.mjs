import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join, normalize, relative } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const REPOSITORY = "https://github.com/retail-pos/auth/blob/main/";

/** The sidebar's groups. A page that none of them names is in no sidebar, and is found by the search. */
const GROUPS = {
  "Get started": ["README.md", "docs/accounts.md", "docs/typescript.md", "docs/moving-over.md"],
  "Your framework": [
    "docs/frameworks.md",
    ..."express koa fastify hono nestjs nextjs react-router node-http workers serverless session"
      .split(" ")
      .map((name) => `docs/frameworks/${name}.md`),
  ],
  "When something is wrong": ["docs/troubleshooting.md", "docs/runbooks.md"],
  Operate: ["operating", "capacity", "queue-workers", "performance"].map((name) => `docs/${name}.md`),
  Understand: [
    ...[
      "service",
      "guarantees",
      "architecture",
      "comparison",
      "own-store",
      "prisma-and-drizzle",
      "versions",
    ].map((name) => `docs/${name}.md`),
    "docs/threat-model.md",
    "SECURITY.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
  ],
  Packages: [
    ..."core passport-retail-pos login express-bearer koa-bearer fastify-bearer hono-bearer fetch store-sqlite".split(
      " ",
    ),
    ..."store-postgres store-redis sealed-store store-contracts opentelemetry sandbox cli".split(" "),
  ].map((name) => `packages/${name}/README.md`),
  Examples: ["express-login", "koa-service", "many-stores", "personal-token"].map(
    (name) => `examples/${name}/README.md`,
  ),
  "API reference": ["docs/api/README.md"],
};

/** What VitePress does not take for a page. */
export const notPages = ["test/**", "scripts/**", "tarballs/**", "**/dist/**", ".github/**"];

export const sidebar = Object.entries(GROUPS).map(([text, pages]) => ({
  text,
  collapsed: text !== "Get started",
  items: pages.map((page) => ({ text: titleOf(page), link: addressOf(page) })),
}));

/** The heading of a page. */
function titleOf(page) {
  const [, title = page] = /^# (.+)$/m.exec(readFileSync(join(root, page), "utf8")) ?? [];
  return title.replaceAll("`", "");
}

/** A page's path on the site. */
function addressOf(page) {
  return `/${page.replace(/(^|\/)README\.md$/, "$1").replace(/\.md$/, "")}`;
}

/** A link of a file. A folder stands for its README; what is no page is shown by GitHub. */
export function targetOf(page, target) {
  const [path, anchor] = target.split("#");
  if (path === "" || /^[a-z]+:/i.test(path)) return target;
  const file = normalize(join(dirname(relative(root, page)), decodeURI(path))).replace(/\/$/, "");
  if (!existsSync(join(root, file))) return target; // the build says that it is dead
  const readme = join(file, "README.md");
  const shown = statSync(join(root, file)).isDirectory() && existsSync(join(root, readme)) ? readme : file;
  const hash = anchor === undefined ? "" : `#${anchor}`;
  if (!shown.endsWith(".md")) return /\.(png|svg)$/.test(shown) ? target : REPOSITORY + shown + hash;
  return addressOf(shown) + hash;
}

/** Links of the built site whose anchor its page does not have. The build itself looks for pages alone. */
export function brokenAnchors(folder, base) {
  const files = readdirSync(folder, { recursive: true }).filter((file) => file.endsWith(".html"));
  const html = new Map(files.map((file) => [`/${file}`, readFileSync(join(folder, file), "utf8")]));
  return [...html].flatMap(([file, text]) =>
    [...text.matchAll(/ href="(?:\/[^"#]*)?#[^"]+"/g)].flatMap(([link]) => {
      const { pathname: path, hash } = new URL(link.slice(7, -1), `http://site${file}`);
      const pathname = path.startsWith(base) ? path.slice(base.length - 1) : path;
      const id = decodeURIComponent(hash.slice(1));
      const there = html.get(pathname) ?? html.get(`${pathname}.html`) ?? html.get(`${pathname}index.html`);
      return there?.includes(` id="${id}"`) ? [] : [`${file}: ${pathname}${hash}`];
    }),
  );
}
