// What strangers send to a callback; every login of ours runs all of it.

/** Appended to the callback, or instead of the parameter named first. */
export const crippled: [name: string, without: string, query: string][] = [
  ["two codes", "", "code=other"],
  ["two equal codes", "", "code=code-shop"],
  ["a code as a list", "code", "code[]=code-shop"],
  ["a code as an object", "code", "code[a]=code-shop"],
  ["a code as an encoded list", "code", "code%5B%5D=code-shop"],
  ["a code beside a list of codes", "", "code[]=other"],
  ["two states", "", "state=other"],
  ["a state as a list", "state", "state[]=other"],
  ["a state as an object", "state", "state[a]=other"],
  ["a state as a deep object", "state", "state[a][b]=other"],
  ["a state beside an object", "", "state[a]=other"],
  ["two domain prefixes", "", "domain_prefix=evil"],
  ["a domain prefix as a list", "domain_prefix", "domain_prefix[]=shop"],
  ["a domain prefix as an object", "domain_prefix", "domain_prefix[a]=shop"],
  ["two errors", "", "error=access_denied&error=access_denied"],
  ["an error as a list", "", "error[]=access_denied"],
  ["an empty code", "code", "code="],
  ["a code with a line break", "code", "code=a%0D%0Ab"],
  ["a code of 10 kB", "code", `code=${"c".repeat(10_000)}`],
  ["no code", "code", ""],
];

/** Domain prefixes that are not one DNS label. */
export const hostilePrefixes: [name: string, prefix: string | undefined][] = [
  ["with a slash", "evil.example/"],
  ["with a fragment", "evil#"],
  ["with a query", "evil?"],
  ["with a backslash", "evil.example\\"],
  ["with credentials", "a@evil"],
  ["with a port", "evil:8443"],
  ["with a dot", "a.b"],
  ["a host", "evil.example"],
  ["a path", "../evil"],
  ["with a tab", "shop\t"],
  ["with a space before it", " shop"],
  ["with a line break", "sh\nop"],
  ["with a line break behind it", "shop\n"],
  ["with a null byte", "shop\0"],
  ["in full-width letters", "ｓｈｏｐ"],
  ["with a letter that lower-cases to k", "\u212Aiosk"],
  ["encoded once more", "shop%2f"],
  ["encoded once more, a dot", "shop%2eevil"],
  ["of 64 characters", "s".repeat(64)],
  ["beginning with a hyphen", "-shop"],
  ["ending with a hyphen", "shop-"],
  ["the placeholder", "{domain_prefix}"],
  ["empty", ""],
  ["missing", undefined],
];

/** States that finish no login, and why. */
export const foreignStates: [name: string, state: string | undefined, code: string][] = [
  ["absent", undefined, "state_missing"],
  ["empty", "", "state_missing"],
  ["fixed", "abc", "state_unknown"],
  ["of one character", "x", "state_unknown"],
  ["of 10 kB", "x".repeat(10_000), "state_unknown"],
  ["of the right length", "x".repeat(43), "state_unknown"],
  ["not ASCII", "ÿ".repeat(43), "state_unknown"],
  ["a name that every object has", "__proto__", "state_unknown"],
];

/** What some function takes for a blank and no browser does, as Node reads the bytes. Subdomains may set such names. */
export const oddBlanks: [name: string, blank: string][] = [
  ["the byte A0", "\u00a0"],
  ["the bytes C2 A0", "\u00c2\u00a0"],
  ["the byte 85", "\u0085"],
  ["a vertical tab", "\v"],
  ["a form feed", "\f"],
  ["the bytes FE FF", "\u00fe\u00ff"],
  ["the bytes EF BB BF", "\u00ef\u00bb\u00bf"],
  ["a blank and the byte A0", " \u00a0"],
];
