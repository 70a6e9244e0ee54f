/** Names inside an archive. Characters that systems misread are percent-encoded, so that names stay distinct. */

/** Windows reads a backslash as a separator, and control characters can control a terminal. */
const misread = /[\\\p{Cc}]/gu
/** A name that already contains such an encoding is escaped once more. */
const encoded = /%(?=(?:25)*(?:5C|[01][0-9A-F]|7F|[89][0-9A-F]))/g
const replaced = /[/\\\p{Cc}]/gu

export function archivedName(name: string): string {
  return name.replace(encoded, '%25').replace(misread, character => {
    const code = character.codePointAt(0) ?? 0
    return `%${code.toString(16).toUpperCase().padStart(2, '0')}`
  })
}

/** Returns a name for the archive's top folder, from a name that need not be valid as a file name. */
export function topName(name: string): string {
  const safe = name.replace(replaced, '_').trim()
  return /^\.{0,2}$/.test(safe) ? 'files' : safe
}
