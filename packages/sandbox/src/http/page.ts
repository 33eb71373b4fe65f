import { type Html, html } from "./html.js";
import type { Answer } from "./http.js";

export interface Page {
  readonly title: string;
  readonly body: Html;
  /** For `<body>`. */
  readonly className: string;
  /** The page's script, and what it has to know, for `<head>`. */
  readonly script?: Html;
}

/** A page with one stylesheet, no script but its own, and no way into a frame. */
export function pageAnswer(status: number, page: Page): Answer {
  const { html: body } = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${page.title}</title>
<link rel="icon" href="${icon}">
<link rel="stylesheet" href="/sandbox.css">
${page.script}
</head>
<body class="${page.className}">
${page.body}
</body>
</html>
`;
  return { status, body, headers: { ...headers, "Content-Security-Policy": policy(page) } };
}

/** The name at the top of every page. */
export const brand: Html = html`<p class="brand"><span class="mark" aria-hidden="true"></span>Retail POS <b>sandbox</b></p>`;

const headers = {
  "Content-Type": "text/html; charset=utf-8",
  "Cache-Control": "no-store",
  "X-Frame-Options": "DENY",
  // Not "no-referrer": browsers would then send our own forms with "Origin: null".
  "Referrer-Policy": "same-origin",
};

/**
 * No `form-action`: Chromium applies it to every redirect that follows a form,
 * and the consent form ends at the application's callback, which may send the
 * browser on to addresses nobody here knows.
 */
function policy({ script }: Page): string {
  const scripted = script ? "; script-src 'self'; connect-src 'self'" : "";
  return `default-src 'none'; style-src 'self'; img-src data:; base-uri 'none'; frame-ancestors 'none'${scripted}`;
}

/** A till with its drawer open. */
const icon =
  "data:image/svg+xml," +
  encodeURIComponent(
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="8" fill="#0d6b57"/><path d="M9 9h14v8H9zM7 19h18v5H7z" fill="none" stroke="#fff" stroke-width="2" stroke-linejoin="round"/><path d="M14 21.5h4" stroke="#fff" stroke-width="2" stroke-linecap="round"/></svg>',
  );
