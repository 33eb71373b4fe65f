/** A piece of HTML that is safe to send, because only the `html` tag makes it. */
export interface Html {
  readonly html: string;
}

type Hole = Html | string | number | undefined | false | readonly Html[];

/** Writes HTML. Values are escaped unless they are {@link Html} themselves; `undefined` and `false` leave nothing. */
export function html(texts: TemplateStringsArray, ...holes: readonly Hole[]): Html {
  const parts = texts.map((text, index) => text + fill(holes[index]));
  return { html: parts.join("") };
}

export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

function fill(hole: Hole): string {
  if (hole === undefined || hole === false) return "";
  if (typeof hole === "string" || typeof hole === "number") return escapeHtml(String(hole));
  if ("html" in hole) return hole.html; // made by the tag, so what was put into it is escaped already
  return hole.map((piece) => piece.html).join("");
}
