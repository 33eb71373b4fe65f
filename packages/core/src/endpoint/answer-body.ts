import { discard } from "../platform/fetch.js";

/** The most bytes that core reads of an answer (behaviour 10). */
const LONGEST_BODY = 1024 * 1024;

/** The text of an answer; `undefined` if it is longer than {@link LONGEST_BODY}. */
export function bodyOf(response: Response): string | Promise<string | undefined> {
  if (!response.body) return "";
  if (response.status === 429) {
    discard(response.body); // only the headers are used, and the body may never come
    return "";
  }
  return isShort(response.headers) ? response.text() : longBodyOf(chunksOf(response.body));
}

/** Reads at most {@link LONGEST_BODY} bytes. */
async function longBodyOf(body: AsyncIterable<Uint8Array>): Promise<string | undefined> {
  const decoder = new TextDecoder();
  let [text, length] = ["", 0];
  for await (const chunk of body) {
    length += chunk.byteLength;
    if (length > LONGEST_BODY) return undefined; // leaving the loop cancels the rest
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}

/** The streams of some platforms cannot be iterated. Node's streams, which some `fetch` return, have no reader. */
async function* chunksOf(body: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
  if (Symbol.asyncIterator in body) return yield* body;
  const reader = (body as ReadableStream<Uint8Array>).getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

/** Whether the headers announce a short body that is not compressed: a compressed one may unpack to any size. */
function isShort(headers: Headers): boolean {
  const length = headers.get("content-length") ?? "";
  return /^\d+$/.test(length) && Number(length) <= LONGEST_BODY && !headers.has("content-encoding");
}
