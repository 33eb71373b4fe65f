import { personalToken } from "@retail-pos/core";
import { retailFetch } from "@retail-pos/fetch";

try {
  const missing = ["RETAIL_POS_BASE_URL", "DOMAIN_PREFIX", "PERSONAL_TOKEN"].filter(
    (name) => !process.env[name],
  );
  if (missing.length > 0) throw new Error(`${missing.join(", ")}: none was given`);
  const { RETAIL_POS_BASE_URL: baseUrl, DOMAIN_PREFIX: domainPrefix, PERSONAL_TOKEN: token } = process.env;
  const store = personalToken({ baseUrl, domainPrefix, token, fetch: retailFetch() });
  const answer = await store.fetch("api/products");
  if (answer.status === 401) await store.token({ rejected: token }); // throws, and says what to do
  if (!answer.ok) throw new Error(`The API answered ${answer.status}`);
  for (const { name, price, currency } of (await answer.json()).data)
    console.log(`${name}: ${price} ${currency}`);
} catch (error) {
  console.error(error.cause ? `${error.message}: ${error.cause.message || error.cause.code}` : error.message);
  process.exitCode = 1;
}
