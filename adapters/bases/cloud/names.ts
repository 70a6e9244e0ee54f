/** Names of the cloud storages that keep the case of a name, but compare names without it. */

/** Control characters (the category Cc), except U+0000, which no path contains. */
export const controlCharacters = String.fromCharCode(...between(0x01, 0x1f), ...between(0x7f, 0x9f))
/** The characters of `\s` in a regular expression. */
export const whiteSpace = '\t\n\v\f\r \u00a0\u1680\u2028\u2029\u202f\u205f\u3000\ufeff'.concat(
  String.fromCharCode(...between(0x2000, 0x200a)),
)

function between(first: number, last: number): number[] {
  return Array.from({ length: last - first + 1 }, (_, index) => first + index)
}

export function isSameName(a: string, b: string): boolean {
  return a.toLowerCase() === b.toLowerCase()
}
