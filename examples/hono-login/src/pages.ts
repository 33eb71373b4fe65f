import type { FailureEvent } from "@retail-pos/login";
import { html } from "hono/html";
import { isLoggedInAlready, type Problem, problemOf } from "./problems.js";
import type { Shelves } from "./shelves.js";

type Page = ReturnType<typeof html>;

/**
 * The page for a login that failed, in words for whoever runs the store, outside of Hono's context. The developer's
 * words go to the log.
 *
 * @param store who is logged in.
 */
export async function showFailure(
  { request, code, status, message, headers, error }: FailureEvent,
  store: string | undefined,
): Promise<Response> {
  const domainPrefix = new URL(request.url).searchParams.get("domain_prefix");
  if (isLoggedInAlready(code, domainPrefix, store))
    return new Response(null, { status: 303, headers: { location: "/products" } });
  if (status >= 500) console.error(error ?? message);
  else console.warn(`A login failed, ${code}: ${message}`);
  const page = await problem(problemOf({ code, isLogin: true, store, error }), store);
  const own = { "content-type": "text/html; charset=utf-8" };
  return new Response(String(page), { status, headers: { ...headers, ...own } });
}

export function welcome(): Page {
  return layout(
    "Log in",
    html`<div class="beside">
<section class="hero">
  <p class="eyebrow">Stock at a glance</p>
  <h1>Everything on your shelves, on one page.</h1>
  <p class="lead">Connect your store once. Shelfview shows what you have and what is running low, and stays connected until you say otherwise.</p>
  <a class="button" href="/auth/retail-pos">Log in with store</a>
  <p class="note">You choose the store and confirm the access on the service’s own page. Your password stays there.</p>
</section>
<svg class="shelf" viewBox="0 0 420 400" aria-hidden="true"><use href="/shelf.svg#shelf"/></svg>
</div>`,
  );
}

export function products(store: string, { name, products: list, readAt }: Shelves): Page {
  const low = list.filter(({ isLow }) => isLow).length;
  return layout(
    name,
    html`<div class="title">
  <div>
    <p class="eyebrow">On your shelves</p>
    <h1>${name}</h1>
    <p class="sum">${list.length} ${list.length === 1 ? "product" : "products"}${low > 0 && html`, <strong>${low} running low</strong>`}</p>
  </div>
  <p class="fresh">Connected. As of <time datetime="${readAt.iso}">${readAt.words}</time></p>
</div>
<table>
  <thead><tr><th scope="col">Product</th><th scope="col" class="sku">SKU</th><th scope="col" class="number">Price</th><th scope="col" class="number">In stock</th></tr></thead>
  <tbody>${list.map(rowOf)}</tbody>
</table>
${list.length === 0 && html`<p class="note">This store has no products yet.</p>`}`,
    store,
  );
}

function rowOf({ name, sku, price, currency, in_stock: inStock, isLow }: Shelves["products"][number]): Page {
  const stock = isLow
    ? html`<span class="stock low">${inStock}</span><span class="unseen"> running low</span>`
    : html`<span class="stock">${inStock}</span>`;
  return html`
    <tr>
      <td>${name}</td>
      <td class="sku">${sku}</td>
      <td class="number">${price} <small>${currency}</small></td>
      <td class="number">${stock}</td>
    </tr>`;
}

/** Asks first. */
export function disconnect(store: string): Page {
  return layout(
    "Disconnect",
    html`<div class="beside">
<section class="hero">
  <p class="eyebrow">Are you sure?</p>
  <h1>Disconnect ${store}?</h1>
  <p class="lead">Shelfview forgets its access, and shows nothing of the store until somebody logs in with it again. Nothing changes in the store itself.</p>
  <form class="choice" method="post" action="/disconnect">
    <button class="button danger">Disconnect store</button>
    <a class="button quiet" href="/products">Keep it connected</a>
  </form>
</section>
${picture("plug")}
</div>`,
    store,
  );
}

/** For whatever went wrong. */
export function problem(
  { code, picture: name, eyebrow, heading, advice, href, label, wait }: Problem,
  store: string | undefined,
): Page {
  const from = wait?.until
    ? html`You can go on from <time datetime="${wait.until.iso}">${wait.until.words}</time>.`
    : wait && "You can go on in less than a minute.";
  return layout(
    heading,
    html`<div class="beside">
<section class="hero" data-code="${code}">
  <p class="eyebrow">${eyebrow}</p>
  <h1>${heading}</h1>
  <p class="lead">${advice} ${from}</p>
  ${
    wait
      ? html`<a class="button" href="${href}" data-wait="${wait.seconds}">${label}</a>`
      : html`<a class="button" href="${href}">${label}</a>`
  }
  <p class="unseen" role="status"></p>
</section>
${picture(name)}
</div>`,
    store,
  );
}

const picture = (name: string): Page =>
  html`<svg class="picture" viewBox="0 0 420 400" aria-hidden="true"><use href="/pictures.svg#${name}"/></svg>`;

function layout(title: string, content: Page, store?: string): Page {
  return html`<!doctype html>
<html lang="en">
<head>
  <meta charset="utf-8">
  <meta name="viewport" content="width=device-width, initial-scale=1">
  <title>${title} · Shelfview</title>
  <link rel="stylesheet" href="/style.css">
  <link rel="icon" href="/icon.svg" type="image/svg+xml">
  <script type="module" src="/times.js"></script>
</head>
<body>
<header>
  <a class="brand" href="/"><img src="/icon.svg" alt="" width="28" height="28">Shelfview</a>
  ${
    store &&
    html`<nav aria-label="Account">
    <span class="store">${store}</span>
    <form method="post" action="/logout"><button class="plain">Log out</button></form>
    <a class="plain" href="/disconnect">Disconnect</a>
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
