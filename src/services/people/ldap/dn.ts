/** Characters of a DN that is compared. Longer ones are nobody's. */
const maxLength = 4096
/** A part of a DN without the separators, then one of these. Quotes are those of RFC 2253. */
const pieces = /(?:[^\\,;+"]|\\.|"(?:[^"\\]|\\.)*")+|[,;+]/gs

/**
 * Returns a text that is the same for all spellings of a DN (RFC 4514), so that the members of groups can be compared with the DNs of
 * entries: without differences of case, of Unicode normal form, of escapes and of spaces at the edges. Returns null for a DN that is too long.
 */
export function dnKey(dn: string): string | null {
  if (dn.length > maxLength) return null
  const names: string[][] = [[]]
  for (const [piece] of dn.matchAll(pieces)) {
    if (piece === ',' || piece === ';') names.push([])
    else if (piece !== '+') names.at(-1)?.push(partKey(piece))
  }
  return names.map(parts => parts.toSorted().join('+')).join(',')
}

/** @param part such as `cn=Ann` */
function partKey(part: string): string {
  const end = part.indexOf('=')
  const type = part.slice(0, Math.max(end, 0)).trim().toLowerCase()
  const written = part.slice(end + 1).trim()
  const value = unescaped(
    written.length > 1 && written.startsWith('"') && written.endsWith('"') ? written.slice(1, -1) : written,
  )
  const folded = value.normalize('NFKC').toLowerCase().trim().replaceAll(/\s+/g, ' ')
  return `${type}=${folded.replaceAll(/[\\,+=]/g, '\\$&')}`
}

/** Characters are escaped by themselves, or as the bytes of their UTF-8. */
function unescaped(value: string): string {
  if (!value.includes('\\')) return value
  return value.replaceAll(/((?:\\[0-9a-f]{2})+)|\\(.?)/gis, (_all, bytes: string | undefined, character: string) =>
    bytes === undefined ? character : Buffer.from(bytes.replaceAll('\\', ''), 'hex').toString('utf8'),
  )
}
