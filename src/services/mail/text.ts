/** The plain text of emails, in which names of others add neither lines nor markup. */

/** Characters of a name in a subject. */
const maxSubjectName = 80
/** Control characters, line breaks, and characters that change the direction of text. */
const unsafe = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu

/** Returns a name for a subject or a sentence. */
export function oneLine(text: string): string {
  const line = text.replace(unsafe, ' ').trim()
  return line.length > maxSubjectName ? `${line.slice(0, maxSubjectName - 1).toWellFormed()}\u2026` : line
}

/** Joins paragraphs. */
export function body(parts: readonly string[]): string {
  return `${parts.join('\n\n')}\n`
}

/** Marks each line of a text as a quotation. */
export function quoted(text: string): string {
  const lines = text.split(/\r\n|[\r\n]/)
  return lines.map(line => `> ${line}`).join('\n')
}
