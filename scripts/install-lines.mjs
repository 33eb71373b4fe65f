export function installLines(text, tarballs, needed) {
  const installed = new Set();
  const withNeeded = (name) => {
    if (!tarballs.has(name)) return [name];
    if (installed.has(name)) return [];
    installed.add(name);
    return [
      tarballs.get(name),
      ...needed(name)
        .filter((each) => tarballs.has(each))
        .flatMap(withNeeded),
    ];
  };
  return [...text.matchAll(/(?:^ *|`)npm install ([^#`\n]*[^#`\n ])/gm)]
    .map(([, words]) => words.split(" ").flatMap(withNeeded))
    .filter((words) => words.some((word) => !word.startsWith("-")))
    .map((words) => `npm install ${words.join(" ")}`);
}
