import { discard } from "../platform/fetch.js";

/** The most bytes that core reads of an answer (behaviour 10). */
const LONGEST_BODY = 1024 * 1024;

/** The text of an answer; `undefined` when it is longer than {@link LONGEST_BODY}. */
export async function bodyOf({ status, body }: Response): Promise<string | undefined> {
  if (!body) return "";
  if (status === 429) {
    discard(body); // the headers say it all, even if the body never comes
    return "";
  }
  const decoder = new TextDecoder();
  let [text, length] = ["", 0];
  for await (const chunk of chunksOf(body)) {
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
