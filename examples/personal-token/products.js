import { personalToken } from "@retail-pos/core";
import { retailFetch } from "@retail-pos/fetch";
import pRetry, { AbortError } from "p-retry";

/** The most products that the API gives at a time. */
const PAGE_SIZE = 100;
/** An API whose `total` is wrong has no last page. */
const MOST_PAGES = 1000;
/** With pauses of one second, doubling: an outage of half a minute is waited out. */
const RETRIES = 5;

try {
  const { RETAIL_POS_BASE_URL: baseUrl, DOMAIN_PREFIX: domainPrefix, PERSONAL_TOKEN: token } = process.env;
  const given = { RETAIL_POS_BASE_URL: baseUrl, DOMAIN_PREFIX: domainPrefix, PERSONAL_TOKEN: token };
  const missing = Object.keys(given).filter((name) => !given[name]);
  if (missing.length > 0) throw new Error(`${missing.join(", ")}: none was given`);
  const fetch = retailFetch({ wait429Ms: 60_000 });
  const store = personalToken({ baseUrl, domainPrefix, token, fetch });
  for await (const { name, price, currency } of productsOf(store))
    console.log(printable(`${name}: ${price} ${currency}`));
} catch (error) {
  const { message, cause } = error;
  console.error(printable(cause ? `${message}: ${cause.message || cause.code}` : message));
  process.exitCode = 1;
}

/** On one line, and without what a terminal would obey: people of the store wrote it. */
function printable(text) {
  return text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, "\ufffd");
}

/** All products, page by page. */
async function* productsOf(store) {
  for (let page = 1; page <= MOST_PAGES; page += 1) {
    const path = `api/products?page=${page}&page_size=${PAGE_SIZE}`;
    const { data, total } = await pRetry(() => read(store, path), { retries: RETRIES });
    yield* data;
    if (data.length === 0 || !(page * PAGE_SIZE < total)) return; // nor without a total
  }
  throw new Error(`The store has more than ${MOST_PAGES * PAGE_SIZE} products, or its API has no last page`);
}

/** An answer that another try does not change is an AbortError. */
async function read(store, path) {
  const answer = await store.fetch(path, { signal: AbortSignal.timeout(90_000) });
  if (answer.ok) return answer.json();
  await answer.body?.cancel();
  if (answer.status === 401) {
    const { value: rejected } = await store.token();
    await store.token({ rejected }).catch((error) => Promise.reject(new AbortError(error))); // it says what to do
  }
  const error = new Error(`The API answered ${answer.status}`);
  throw answer.status >= 500 || answer.status === 429 ? error : new AbortError(error);
}
