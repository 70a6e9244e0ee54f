/**
 * The names of a directory in one string: sorted, each with a `/` behind it, which no name holds. So a million names cost
 * their bytes and one object, and the place of any name is found without a scan.
 */
export type PackedNames = string & { readonly __packedNames: true }

/** @param names as Latin-1, a character for each byte. libuv sorts them (without promising it): then this is one pass. */
export function packNames(names: string[]): PackedNames {
  names.sort()
  return (names.length === 0 ? '' : `${names.join('/')}/`) as PackedNames
}

/** The first `count` names behind `after`, in order. `more` says whether others follow. */
export function namesAfter(packed: PackedNames, after: string, count: number): { names: string[]; more: boolean } {
  const names: string[] = []
  let start = startAfter(packed, after)
  while (start < packed.length && names.length < count) {
    const end = packed.indexOf('/', start)
    names.push(packed.slice(start, end))
    start = end + 1
  }
  return { names, more: start < packed.length }
}

/** Where the first name behind `after` begins. */
function startAfter(packed: PackedNames, after: string): number {
  let low = 0
  let high = packed.length
  while (low < high) {
    const middle = (low + high) >>> 1
    const start = middle === 0 ? 0 : packed.lastIndexOf('/', middle - 1) + 1
    const end = packed.indexOf('/', middle)
    if (packed.slice(start, end) <= after) low = end + 1
    else high = start
  }
  return low
}
