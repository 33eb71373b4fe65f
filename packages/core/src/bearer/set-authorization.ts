/** An incoming request: of Node's `http` or `http2`, a web `Request`, or any object with such headers. */
export interface RequestMessage {
  /** Read only with `header: true`, because Node makes the object at the first access. */
  readonly headers: Record<string, string | string[] | undefined> | Headers;
}

/** What contains the headers of Node's request, beside the web's. */
interface NodeMessage {
  headers: Record<string, unknown>;
  /** Names and values in turn, as received. */
  rawHeaders?: string[];
  headersDistinct?: Record<string, unknown>;
}

const NAME = "authorization";

/**
 * Makes `value` the request's only `Authorization` header, or removes the header if it is `undefined`. It changes all
 * properties that contain headers, in any letter case, because a proxy behind the application may read any of them.
 *
 * @throws {TypeError} if the request cannot take it.
 */
export function setAuthorization(message: RequestMessage | undefined, value: string | undefined): void {
  try {
    const headers = message?.headers as Headers;
    if (typeof headers !== "object") throw new TypeError("It has no headers");
    if (typeof headers.get !== "function") setInNode(message as NodeMessage, value);
    else if (value === undefined) headers.delete(NAME);
    else headers.set(NAME, value);
  } catch (cause) {
    const problem = "header: true needs a request whose headers can be changed: Node's, or the web's";
    throw new TypeError(problem, { cause });
  }
}

/** `headersDistinct` is read before `rawHeaders` is changed, because Node makes it from them at the first access. */
function setInNode({ headers, rawHeaders, headersDistinct }: NodeMessage, value: string | undefined): void {
  setByName(headers, value);
  if (headersDistinct) setByName(headersDistinct, value === undefined ? undefined : [value]);
  if (!rawHeaders) return;
  for (let at = rawHeaders.length - 2; at >= 0; at -= 2) if (isOurs(rawHeaders[at])) rawHeaders.splice(at, 2);
  if (value !== undefined) rawHeaders.push("Authorization", value);
}

function setByName(headers: Record<string, unknown>, value: unknown): void {
  for (const name of Object.keys(headers)) if (isOurs(name)) delete headers[name];
  if (value !== undefined) headers[NAME] = value;
}

function isOurs(name: string | undefined): boolean {
  return name?.toLowerCase() === NAME;
}
