/** Where a secret was found, and in which form. */
export interface Find {
  readonly place: string;
  readonly secret: string;
  readonly form: string;
}

/** Texts by the place they were seen at. */
export interface Seen {
  readonly place: string;
  readonly text: string;
}

/**
 * Every secret has a core of letters and digits, between characters that are written differently in a URL, in JSON,
 * in HTML and by the console: the core stays as it is in all of these, also where a text was cut off behind it.
 */
const core = /[A-Za-z0-9]{16}/;

/** A secret called `name` whose core no other text has. */
export function canary(name: string): string {
  const core = `${name}Canary0123456789`.slice(0, 16);
  return `~"${core}'%/+=&<\\`;
}

/** Searches texts for secrets, each in every form that a text may hold it in; counts what it compared. */
export function search(seen: readonly Seen[], secrets: Readonly<Record<string, string>>) {
  const finds: Find[] = [];
  let compared = 0;
  for (const [secret, value] of Object.entries(secrets)) {
    for (const [form, wanted] of formsOf(value)) {
      for (const { place, text } of seen) {
        compared += 1;
        if (text.includes(wanted)) finds.push({ place, secret, form });
      }
    }
  }
  return { finds, compared };
}

function formsOf(value: string): [form: string, text: string][] {
  const [plain] = core.exec(value) ?? [];
  if (plain === undefined) throw new Error("a secret without a core cannot be searched for");
  return [
    ["plain, URL-encoded, as JSON, as HTML", plain],
    ["hexadecimal", Buffer.from(plain).toString("hex")],
    ["lower-cased", plain.toLowerCase()],
    ...base64FormsOf(plain).map((text, offset): [string, string] => [
      `base64, ${offset} behind a group of three`,
      text,
    ]),
  ];
}

/** A text within a longer one that is base64: by where in it the text begins, there are three ways to write it. */
export function base64FormsOf(text: string): string[] {
  return [0, 1, 2].map((offset) =>
    Buffer.concat([Buffer.alloc(offset), Buffer.from(text)])
      .toString("base64")
      .slice(offset === 0 ? 0 : 4, 4 * Math.floor((offset + text.length) / 3)),
  );
}
