/** A piece of HTML that is safe to send: made by the `html` tag alone. */
export interface Html {
  readonly html: string;
}

type Hole = Html | string | number | undefined | false | readonly Html[];

/** Writes HTML; whatever is put in is escaped unless it is HTML itself. Nothing comes of `undefined` and `false`. */
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
