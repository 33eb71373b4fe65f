/** An incoming request: of Node's `http` or `http2`, a web `Request`, or any object with such headers. */
export interface RequestMessage {
  /** Read only with `header: true`, because Node makes the object at the first access. */
  readonly headers: Record<string, string | string[] | undefined> | Headers;
}

/** The two other properties that contain the headers of Node's request. */
interface NodeMessage {
  /** Names and values in turn, as received. */
  rawHeaders?: string[];
  headersDistinct?: Record<string, string[] | undefined>;
}

const NAME = "authorization";

/**
 * Makes `value` the request's only `Authorization` header, or removes the header if it is `undefined`. It changes all
 * properties that contain headers, in any letter case, because a proxy behind the application may read any of them.
 *
 * @throws {TypeError} if the request cannot take it.
 */
export function setAuthorization(message: RequestMessage | undefined, value: string | undefined): void {
  const headers = message?.headers;
  if (typeof headers !== "object" || headers === null) throw cannotTake();
  try {
    if (isWebHeaders(headers)) setInWebHeaders(headers, value);
    else setInNode(message as NodeMessage, headers, value);
  } catch (cause) {
    throw cannotTake(cause);
  }
}

function cannotTake(cause?: unknown): TypeError {
  const problem = "header: true needs a request whose headers can be changed: Node's, or the web's";
  return new TypeError(problem, cause === undefined ? undefined : { cause });
}

function isWebHeaders(headers: object): headers is Headers {
  return typeof (headers as Headers).get === "function";
}

function setInWebHeaders(headers: Headers, value: string | undefined): void {
  if (value === undefined) headers.delete(NAME);
  else headers.set(NAME, value);
}

/** `headersDistinct` is read before `rawHeaders` is changed, because Node makes it from them at the first access. */
function setInNode(
  { rawHeaders, headersDistinct }: NodeMessage,
  headers: Record<string, unknown>,
  value: string | undefined,
): void {
  setByName(headers, value);
  if (headersDistinct) setByName(headersDistinct, value === undefined ? undefined : [value]);
  if (rawHeaders) setInPairs(rawHeaders, value);
}

function setByName<Value>(headers: Record<string, Value>, value: Value | undefined): void {
  for (const name of Object.keys(headers)) if (isOurs(name)) delete headers[name];
  if (value !== undefined) headers[NAME] = value;
}

function setInPairs(pairs: string[], value: string | undefined): void {
  for (let at = pairs.length - 2; at >= 0; at -= 2) if (isOurs(pairs[at])) pairs.splice(at, 2);
  if (value !== undefined) pairs.push("Authorization", value);
}

function isOurs(name: string | undefined): boolean {
  return name?.toLowerCase() === NAME;
}
