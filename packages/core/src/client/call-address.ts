/**
 * Makes the address of a call. It has to lie below `baseUrl`, or another server would get the bearer (behaviour 12).
 *
 * @param isAbsolute whether the input is a whole address, such as a `Request`'s.
 * @throws {TypeError} the address is outside `baseUrl`, or some servers may read it as one outside; the message says
 * why.
 */
export function addressWithin(baseUrl: string, input: unknown, isAbsolute = false): string {
  const text = String(input);
  const isRelative = !isAbsolute && typeof input === "string" && !/^\s*[a-z][a-z0-9+.-]*:/i.test(input);
  const path = text.split(/[?#]/, 1)[0] ?? "";
  // A URL parser drops control characters and turns a backslash into a slash; other programs do not.
  if (CONTROL_OR_BACKSLASH.test(path)) throw outside("contains a backslash or a control character");
  if (isRelative && path.startsWith("//")) throw outside("names another host");

  const target = isRelative ? `${baseUrl}/${text.replace(/^\//, "")}` : text;
  if (!URL.canParse(target)) throw outside("is no URL");
  const [base, url] = [new URL(baseUrl), new URL(target)];
  if (url.origin !== base.origin || url.username || url.password) throw outside("is of another origin");
  const root = base.pathname.replace(/\/$/, "");
  const isBelow = `${url.pathname}/`.startsWith(`${root}/`);
  // Both the given path and the parsed one are checked, because the parser removes "a%2fb/.." as one segment.
  if (!isBelow || mayClimbOut(url.pathname.slice(root.length)) || (isRelative && mayClimbOut(path)))
    throw outside("climbs out of baseUrl, or may do so on some server");
  return url.href;

  function outside(why: string): TypeError {
    return new TypeError(`fetch stays within ${baseUrl}; the given address ${why}`);
  }
}

const UNSEEN = /[\p{Cc}\p{Cf}\s\ufffd]/gu;
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for.
const CONTROL_OR_BACKSLASH = /[\u0000-\u001f\u007f-\u009f\\]/;

/**
 * Whether a path may climb above its start on some server: one that decodes the path, once or several times, before or
 * after it resolves dot segments; one that drops the text after a semicolon or a null character; or one that reads a
 * full-width dot as a dot. Therefore a segment counts as each `..` that it may become, or else as one name.
 */
function mayClimbOut(path: string): boolean {
  let depth = 0;
  for (const segment of path.split("/")) {
    const parts = partsOf(segment);
    if (!parts) return true;
    const climbs = parts.filter((part) => part === "..").length;
    const isName = parts.some((part) => part !== "" && part !== ".");
    if (climbs > 0) depth -= climbs;
    else if (isName) depth += 1;
    if (depth < 0) return true;
  }
  return false;
}

/** The most layers of encoding that a path may have. No real path has more. */
const MOST_DECODINGS = 4;

const ENCODED = /%[0-9a-f]{2}|%u[0-9a-f]{4}/i;

/** Overlong UTF-8 (RFC 3629, section 10). It is never valid, but careless decoders read a dot or a slash from it. */
const OVERLONG = /%c[01][%.]|%e0%[89]|%f[08c]%8/i;

/** Unicode's slashes and backslashes, some of which become an ASCII one in another character set. */
const SLASHES = /[/\\\u2044\u2215\u2216\u29f5\u29f8\u29f9]/;

/** The parts of a segment after decoding; `undefined` if servers may disagree about them. */
function partsOf(segment: string): string[] | undefined {
  let text = segment;
  for (let count = 0; ENCODED.test(text); count += 1) {
    if (count === MOST_DECODINGS || OVERLONG.test(text)) return undefined;
    text = decodedOnce(text);
  }
  return text.normalize("NFKC").split(SLASHES).map(withoutTrimmings);
}

function decodedOnce(text: string): string {
  return text
    .replace(/%u([0-9a-f]{4})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
    .replace(/(?:%[0-9a-f]{2})+/gi, (run) => {
      const bytes = run.slice(1).split("%");
      return new TextDecoder().decode(Uint8Array.from(bytes, (hex) => Number.parseInt(hex, 16)));
    })
    .normalize("NFKC"); // a full-width percent sign becomes an ordinary one
}

/** Removes matrix parameters, a query, and characters that servers drop; an ideographic dot becomes a dot. */
function withoutTrimmings(part: string): string {
  return (part.split(/[;?#\0]/, 1)[0] as string).replace(UNSEEN, "").replace(/[\u3002\uff61]/g, ".");
}
