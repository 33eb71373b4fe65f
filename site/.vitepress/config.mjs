import { slug } from "github-slugger";
import { defineConfig } from "vitepress";
import { brokenAnchors, notPages, sidebar, targetOf } from "../pages.mjs";

// The Markdown files of the repository, as they are, with a sidebar and a search. Nothing is written for the site alone.

export default defineConfig({
  title: "retail-pos auth",
  description: "Login with store and always-fresh bearer tokens for a retail point-of-sale API, for Node",
  base: process.env.SITE_BASE ?? "/",
  srcDir: "..",
  srcExclude: notPages,
  rewrites: (page) => page.replace(/(^|\/)README\.md$/, "$1index.md"),
  cleanUrls: true,
  ignoreDeadLinks: "localhostLinks",
  head: [["style", {}, ".vp-doc p img { display: inline } .vp-doc td { vertical-align: top }"]],
  markdown: {
    anchor: { slugify: (heading) => slug(heading) }, // as GitHub: a link with an anchor is right in both places
    config(md) {
      md.core.ruler.push("links", ({ tokens, env }) => {
        for (const token of tokens.flatMap(({ children }) => children ?? [])) {
          const target = token.type === "link_open" && token.attrGet("href");
          if (target) token.attrSet("href", targetOf(env.realPath ?? env.path, target));
          token.content = token.content.replace('<img src="docs/', '<img src="./docs/');
        }
      });
    },
  },
  buildEnd({ outDir, site }) {
    const broken = brokenAnchors(outDir, site.base);
    if (broken.length > 0) throw new Error(`There is no such heading:\n${broken.join("\n")}`);
  },
  themeConfig: {
    search: {
      provider: "local",
      options: {
        // Programs repeat the same names on every page: the words around them are what answers.
        _render: (text, env, md) => md.render(text.replace(/^ *```.*?^ *```$/gms, ""), env),
        miniSearch: {
          options: { tokenize: (text) => text.split(/[^\p{L}\p{N}_]+/u) },
          searchOptions: {
            combineWith: "AND",
            prefix: true,
            fuzzy: (word) => (/[_\d]/.test(word) ? false : 0.2),
            boostDocument: (id) => {
              if (/\/(docs\/api|bench|docs\/performance|docs\/threat-model|CHANGELOG)/.test(id)) return 0.2;
              return /\/docs\/troubleshooting/.test(id) ? 1.3 : 1;
            },
          },
        },
      },
    },
    sidebar,
    outline: [2, 3],
    socialLinks: [{ icon: "github", link: "https://github.com/retail-pos/auth" }],
  },
});
