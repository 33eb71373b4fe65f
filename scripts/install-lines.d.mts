/**
 * A text's lines `npm install ...`, with a tarball in place of each package of ours and of each that it needs.
 *
 * @param tarballs the file of each package of ours, by its name.
 * @param needed what a package of ours depends on.
 */
export function installLines(
  text: string,
  tarballs: ReadonlyMap<string, string>,
  needed: (name: string) => readonly string[],
): string[];
