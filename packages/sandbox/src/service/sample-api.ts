import { type Answer, type Incoming, jsonAnswer, mediaTypeOf, methodNotAllowed } from "../http/http.js";
import type { Product } from "../stores/demo-retailers.js";
import type { Retailer, Sale } from "../stores/retailer-accounts.js";
import { scopeFor } from "../stores/scopes.js";
import { type Service, storeChanged } from "./service-state.js";

/**
 * A sample of the business API behind the bearer (4.4). The spec shows only the path of one product; the rest is made
 * up for a small point of sale.
 *
 *     GET  {base_url}/api/retailer
 *     GET  {base_url}/api/products?page=1&page_size=20
 *     GET  {base_url}/api/products/{id}
 *     GET  {base_url}/api/sales
 *     POST {base_url}/api/sales      {"product_id": "...", "quantity": 2}
 *
 * At a service with scopes a call needs `products:read`, `sales:read` or `sales:write`; the retailer needs none.
 *
 * `path` is what follows `{base_url}/api`.
 */
export function sampleApi(
  service: Service,
  retailer: Retailer,
  path: readonly string[],
  request: Incoming,
): Answer {
  const { domainPrefix, products, sales } = retailer;
  const bearer = bearerIn(request);
  if (bearer !== undefined) {
    service.tokens.called(domainPrefix, bearer, request.from);
    storeChanged(service, domainPrefix);
  }
  const refused = whyRefused(service, domainPrefix, scopeFor(request.method, path), request);
  if (refused) return refused;
  const [resource, id, ...rest] = path;
  if (rest.length > 0) return notFound();
  if (resource === "products")
    return reading(request, () => (id === undefined ? list(products, request.query) : one(products, id)));
  if (resource === "retailer" && id === undefined) return reading(request, () => describe(retailer));
  if (resource !== "sales" || id !== undefined) return notFound();
  if (request.method === "POST") return sell(service, retailer, request);
  return reading(request, () => list(sales, request.query), "POST");
}

/**
 * RFC 6750 3.1: a request without a token learns how to authenticate; only one with a bad token gets an error code.
 * Only the tokens of a login have scopes: a personal token may do what its user may (R7).
 */
function whyRefused(
  service: Service,
  domainPrefix: string,
  scope: string | undefined,
  request: Incoming,
): Answer | undefined {
  if (request.headers.authorization === undefined)
    return unauthorized('Bearer realm="retail-pos"', "An access token is required.");
  const token = bearerIn(request) ?? "";
  if (!acceptsBearer(service, domainPrefix, token)) {
    const description = "The access token is expired, revoked, malformed, or another store's.";
    return unauthorized(
      `Bearer realm="retail-pos", error="invalid_token", error_description="${description}"`,
      description,
    );
  }
  const granted = service.tokens.find(domainPrefix, "access", token)?.login.scopes;
  if (service.settings.scopes.length === 0 || !scope || !granted || granted.includes(scope)) return undefined;
  const description = `This call needs the scope ${scope}, which the login was not granted.`;
  return jsonAnswer(
    403,
    { error: "insufficient_scope", error_description: description },
    { "WWW-Authenticate": `Bearer realm="retail-pos", error="insufficient_scope", scope="${scope}"` },
  );
}

function bearerIn({ headers }: Incoming): string | undefined {
  return /^Bearer +([A-Za-z0-9\-._~+/]+=*)$/i.exec(headers.authorization ?? "")?.[1];
}

/** Whether the API of this store takes this bearer now: an access token or a personal token (R7). */
export function acceptsBearer(service: Service, domainPrefix: string, token: string): boolean {
  const { tokens, personalTokens } = service;
  return (
    tokens.find(domainPrefix, "access", token) !== undefined || personalTokens.accepts(domainPrefix, token)
  );
}

function describe({ domainPrefix, name, products }: Retailer): Answer {
  return jsonAnswer(200, { data: { domain_prefix: domainPrefix, name, products: products.length } });
}

function list(items: readonly unknown[], query: URLSearchParams): Answer {
  const page = wholeNumber(query.get("page") ?? "1", 1_000_000);
  const pageSize = wholeNumber(query.get("page_size") ?? "20", 100);
  if (page === undefined || pageSize === undefined) {
    return problem(400, "page counts from 1, page_size goes from 1 to 100.");
  }
  const data = items.slice((page - 1) * pageSize, page * pageSize);
  return jsonAnswer(200, { data, page, page_size: pageSize, total: items.length });
}

function one(products: readonly Product[], id: string): Answer {
  const product = products.find((candidate) => candidate.id === id);
  return product ? jsonAnswer(200, { data: product }) : notFound();
}

function sell(service: Service, retailer: Retailer, request: Incoming): Answer {
  if (request.bodyTooLong) return problem(413, "The body is too long.");
  if (mediaTypeOf(request) !== "application/json") return problem(415, "The body must be application/json.");
  const order = readOrder(request.body);
  if (!order)
    return problem(400, "Expected { product_id: string, quantity: a whole number from 1 to 1000 }.");
  const product = retailer.products.find(({ id }) => id === order.product_id);
  if (!product) return problem(422, "This store has no such product.");
  const sale: Sale = {
    id: `sale-${retailer.sales.length + 1}`,
    ...order,
    total: totalOf(product, order.quantity),
    sold_at: new Date(service.now()).toISOString(),
  };
  retailer.sales.push(sale);
  return jsonAnswer(201, { data: sale });
}

function readOrder(body: string): { product_id: string; quantity: number } | undefined {
  try {
    const { product_id, quantity } = JSON.parse(body) as Record<string, unknown>;
    if (typeof product_id !== "string" || typeof quantity !== "number") return undefined;
    const isInReach = Number.isInteger(quantity) && quantity >= 1 && quantity <= 1000;
    return isInReach ? { product_id, quantity } : undefined;
  } catch {
    return undefined; // no JSON, or null
  }
}

/** In whole cents: prices are decimal text, and binary fractions would show in the sum. */
function totalOf({ price }: Product, quantity: number): string {
  const cents = Math.round(Number(price) * 100) * quantity;
  return (cents / 100).toFixed(2);
}

function reading({ method }: Incoming, read: () => Answer, alsoAllowed?: string): Answer {
  if (method === "GET" || method === "HEAD") return read();
  return methodNotAllowed(["GET", "HEAD", ...(alsoAllowed ? [alsoAllowed] : [])].join(", "));
}

function wholeNumber(text: string, most: number): number | undefined {
  const value = /^\d{1,7}$/.test(text) ? Number(text) : 0;
  return value >= 1 && value <= most ? value : undefined;
}

const notFound = () => problem(404, "There is nothing here.");
const problem = (status: number, message: string) => jsonAnswer(status, { error: message });
const unauthorized = (challenge: string, message: string) =>
  jsonAnswer(401, { error: message }, { "WWW-Authenticate": challenge });
