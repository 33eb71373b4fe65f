/**
 * A text's lines `npm install ...`, with a tarball in place of each package of ours and of each that it needs.
 *
 * @param tarballs the file of each package of ours, by its name.
 */
export function installLines(text: string, tarballs: ReadonlyMap<string, string>): string[];

/** What each package of ours depends on, by its name. */
export const packages: ReadonlyMap<string, readonly string[]>;
