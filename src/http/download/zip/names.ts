/** Names inside an archive: what systems misread is percent-encoded, so that no two names become one. */

/** A backslash is a separator to Windows, and a control character does things to terminals. */
const misread = /[\\\p{Cc}]/gu
/** What such an encoding looks like, where a name has it of its own. */
const encoded = /%(?=(?:25)*(?:5C|[01][0-9A-F]|7F|[89][0-9A-F]))/g
const replaced = /[/\\\p{Cc}]/gu

export function archivedName(name: string): string {
  return name.replace(encoded, '%25').replace(misread, character => {
    const code = character.codePointAt(0) ?? 0
    return `%${code.toString(16).toUpperCase().padStart(2, '0')}`
  })
}

/** Of the folder that all lies in, from a name that need not be one of a file. */
export function topName(name: string): string {
  const safe = name.replace(replaced, '_').trim()
  return /^\.{0,2}$/.test(safe) ? 'files' : safe
}
