import type { FailureEvent } from "@retail-pos/login";
import { html } from "hono/html";

export interface Product {
  name: string;
  sku: string;
  price: string;
  currency: string;
  in_stock: number;
}

type Page = ReturnType<typeof html>;

/** The page for a login that failed, outside of Hono's context. From 500 on the reason is for the log. */
export async function showFailure(failure: FailureEvent): Promise<Response> {
  const { status, headers, error, message } = failure;
  if (status >= 500) console.error(error ?? message);
  const own = { "content-type": "text/html; charset=utf-8" };
  return new Response(String(await loginFailed(failure)), { status, headers: { ...headers, ...own } });
}

export function welcome(): Page {
  return layout(
    "Log in",
    html`<div class="beside">
<section class="hero">
  <p class="eyebrow">Stock at a glance</p>
  <h1>Everything on your shelves, on one page.</h1>
  <p class="lead">Connect your store once. Shelfview reads your products and never asks you to log in just because a token ran out.</p>
  <a class="button" href="/auth/retail-pos">Log in with store</a>
  <p class="note">You choose the store and confirm the access on the service’s own page. Your password stays there.</p>
</section>
<img class="shelf" src="/shelf.svg" alt="" width="420" height="400">
</div>`,
  );
}

/** @param expiresAt epoch milliseconds. */
export function products(store: string, list: readonly Product[], expiresAt: number | undefined): Page {
  const isoOfExpiry = expiresAt && new Date(expiresAt).toISOString();
  return layout(
    "Products",
    html`<div class="title">
  <div>
    <p class="eyebrow">Products</p>
    <h1>${list.length} in your store</h1>
  </div>
  ${
    isoOfExpiry &&
    html`<p class="fresh">Connected. Access is good until
    <time datetime="${isoOfExpiry}">${isoOfExpiry.slice(11, 19)} UTC</time>
    and renews itself.</p>`
  }
</div>
<table>
  <thead><tr><th scope="col">Product</th><th scope="col" class="sku">SKU</th><th scope="col" class="number">Price</th><th scope="col" class="number">In stock</th></tr></thead>
  <tbody>${list.map(rowOf)}</tbody>
</table>`,
    store,
  );
}

function rowOf({ name, sku, price, currency, in_stock: inStock }: Product): Page {
  return html`
    <tr>
      <td>${name}</td>
      <td class="sku">${sku}</td>
      <td class="number">${price} ${currency}</td>
      <td class="number"><span class="stock${inStock < 10 ? " low" : ""}">${inStock}</span></td>
    </tr>`;
}

type Words = Readonly<Record<string, readonly [headline: string, advice: string]>>;

const LOGIN_FAILED: Words = {
  access_denied: [
    "You declined the access",
    "Nothing was connected and nothing was changed. You can log in whenever you like.",
  ],
  state_missing: [
    "This login did not start here",
    "The link you followed is incomplete. Start the login from this site.",
  ],
  state_unknown: [
    "We could not match this login",
    "It was already used, or it was started in another browser. Start it again in this one, with cookies allowed.",
  ],
  state_expired: [
    "This login took too long",
    "Logins are good for 15 minutes. Start again; it only takes a moment.",
  ],
  code_refused: [
    "This login took too long",
    "The service no longer accepts it. Start again; it only takes a moment.",
  ],
  invalid_domain_prefix: [
    "That is not a store we can talk to",
    "The address that came back does not name a store. Nothing was sent to it.",
  ],
  invalid_callback: [
    "The answer of the service was damaged",
    "Parts of it were missing or doubled. Start the login again.",
  ],
  rate_limited: [
    "One moment, please",
    "The service asks us to slow down. Start the login again in a minute.",
  ],
};

/** For a login that failed, by its reason. */
function loginFailed({ code, status, message }: FailureEvent): Page {
  const isOurs = status >= 500;
  const otherwise = isOurs
    ? ["That did not work", "The service could not be reached as expected. Start the login again shortly."]
    : ["You are not logged in", "The login was not accepted. Start it again, or choose another store."];
  const [headline, advice] = LOGIN_FAILED[code] ?? otherwise;
  return layout(
    headline,
    html`<section class="hero">
  <p class="eyebrow">Not logged in</p>
  <h1>${headline}</h1>
  <p class="lead">${advice}</p>
  <a class="button" href="/auth/retail-pos">Log in with store</a>
  ${
    isOurs
      ? html`<p class="note"><code>${code}</code></p>`
      : html`<details><summary>Details for the developer</summary><p><code>${code}</code> ${message}.</p></details>`
  }
</section>`,
  );
}

const PROBLEMS: Words = {
  not_found: ["There is no such page", "The address may be mistyped, or the page is gone."],
  not_connected: ["Your store is not connected", "Log in with the store to go on."],
  reconnect_required: [
    "Your store has to be connected again",
    "The service no longer accepts the access it once gave. Log in with the store again; nothing else is lost.",
  ],
  rate_limited: ["One moment, please", "The service asks us to slow down. Load this page again in a minute."],
};

/** For whatever else went wrong. */
export function problem(code: string, store: string | undefined): Page {
  const [headline, advice] = PROBLEMS[code] ?? [
    "That did not work",
    "The service could not be reached as expected. Nothing was lost; try again shortly.",
  ];
  const isLogin = code === "not_connected" || code === "reconnect_required";
  const isMissing = code === "not_found";
  const [href, words] = isLogin
    ? ["/auth/retail-pos", "Log in with store"]
    : isMissing
      ? ["/", "Go to the start"]
      : ["/products", "Try again"];
  return layout(
    headline,
    html`<section class="hero">
  <p class="eyebrow">${isLogin ? "Log in needed" : isMissing ? "Not found" : "Trouble"}</p>
  <h1>${headline}</h1>
  <p class="lead">${advice}</p>
  <a class="button" href="${href}">${words}</a>
  <p class="note"><code>${code}</code></p>
</section>`,
    store,
  );
}

function layout(title: string | undefined, content: Page, store?: string): Page {
  return html`<!doctype html>
<html lang="en">
<head>
  <meta charset="utf-8">
  <meta name="viewport" content="width=device-width, initial-scale=1">
  <title>${title} · Shelfview</title>
  <link rel="stylesheet" href="/style.css">
  <link rel="icon" href="/icon.svg" type="image/svg+xml">
</head>
<body>
<header>
  <a class="brand" href="/"><img src="/icon.svg" alt="" width="28" height="28">Shelfview</a>
  ${
    store &&
    html`<nav aria-label="Account">
    <span class="store">${store}</span>
    <form method="post" action="/logout"><button class="plain">Log out</button></form>
    <form method="post" action="/disconnect"><button class="plain danger">Disconnect store</button></form>
  </nav>`
  }
</header>
<main>
${content}
</main>
</body>
</html>
`;
}
