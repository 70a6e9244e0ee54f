/**
 * The sorted names of a directory in one string, each followed by `/`, which no name contains. A million names cost their
 * bytes and one object, and a binary search finds a name.
 */
export type PackedNames = string & { readonly __packedNames: true }

/**
 * @param names as Latin-1, one character per byte. libuv returns them sorted, without promising it; sorting again is
 * cheap.
 */
export function packNames(names: string[]): PackedNames {
  names.sort()
  return (names.length === 0 ? '' : `${names.join('/')}/`) as PackedNames
}

/** Returns the first `count` names after `after`, in order. `more` is true if others follow. */
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

/** Returns the position at which the first name after `after` begins. */
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
