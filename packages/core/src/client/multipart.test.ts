import fc from "fast-check";
import { expect, test } from "vitest";
import { multipart } from "./multipart.js";

/** The bytes and the type, with a boundary that two of them share. */
async function written(body: Response): Promise<[type: string, bytes: string]> {
  const type = body.headers.get("content-type") ?? "";
  const boundary = type.split("boundary=")[1] ?? "no boundary";
  const bytes = Buffer.from(await body.arrayBuffer()).toString("latin1");
  return [type.replaceAll(boundary, "it"), bytes.replaceAll(boundary, "it")];
}

test("a form is written as the platform writes it, whatever its names, texts and files are", async () => {
  const text = fc.oneof(
    fc.string({ unit: "binary" }),
    fc.string({ unit: fc.constantFrom(..."\r\n\"'%чa ") }),
  );
  const name = text.filter((name) => name !== ""); // Node's fetch forgets that a file without a name is a file
  const file = fc.record({ name, type: fc.constantFrom("", "image/png"), bytes: fc.uint8Array() });
  await fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(text, fc.oneof(text, file))), async (fields) => {
      const form = new FormData();
      for (const [name, value] of fields) {
        if (typeof value === "string") form.append(name, value);
        else form.append(name, new Blob([new Uint8Array(value.bytes)], { type: value.type }), value.name);
      }
      expect(await written(new Response(multipart(form)))).toEqual(await written(new Response(form)));
    }),
    { numRuns: 25 },
  );
});
