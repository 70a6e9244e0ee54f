/** Entity tags and HTTP dates (RFC 9110, sections 5.6.7 and 8.8), and the whitespace in lists of header fields. */

interface EntityTag {
  weak: boolean
  opaque: string
}

const tagPattern = /(W\/)?"([\x21\x23-\x7e\x80-\xff]*)"/y
const fixdate =
  /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d{2} (?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) \d{4} \d{2}:\d{2}:\d{2} GMT$/
const rfc850 =
  /^(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day, \d{2}-(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)-\d{2} \d{2}:\d{2}:\d{2} GMT$/
const asctime =
  /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) (?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) [ \d]\d \d{2}:\d{2}:\d{2} \d{4}$/

export function formatTag(etag: string): string {
  return `"${etag}"`
}

/** Parses a comma-separated list; returns null if it is malformed. */
function parseTags(header: string): EntityTag[] | null {
  const tags: EntityTag[] = []
  let at = skipSeparators(header, 0)
  while (at < header.length) {
    tagPattern.lastIndex = at
    const match = tagPattern.exec(header)
    if (!match) return null
    tags.push({ weak: match[1] !== undefined, opaque: match[2] ?? '' })
    const end = tagPattern.lastIndex
    at = skipSeparators(header, end)
    if (at < header.length && !header.slice(end, at).includes(',')) return null
  }
  return tags
}

/** Returns true if a header such as If-Match names the tag. `strong` ignores weak tags (section 8.8.3.2). */
export function namesTag(header: string, etag: string | null, comparison: 'strong' | 'weak'): boolean {
  if (header.trim() === '*') return true
  if (etag === null) return false
  return (parseTags(header) ?? []).some(({ weak, opaque }) => opaque === etag && !(weak && comparison === 'strong'))
}

/** Returns milliseconds since 1970, or null if the text has none of the three date formats. */
export function parseHttpDate(text: string): number | null {
  const zoned = asctime.test(text) ? `${text} GMT` : fixdate.test(text) || rfc850.test(text) ? text : null
  const time = zoned === null ? Number.NaN : Date.parse(zoned)
  return Number.isNaN(time) ? null : time
}

/** Returns milliseconds, rounded down to seconds like an HTTP date. */
export function wholeSeconds(date: Date): number {
  return Math.floor(date.getTime() / 1000) * 1000
}

/** Removes optional whitespace at both ends, as RFC 9110, section 5.6.3 defines it, in linear time. */
export function trimWhitespace(text: string): string {
  let start = 0
  let end = text.length
  while (start < end && isWhitespace(text.charCodeAt(start))) start++
  while (end > start && isWhitespace(text.charCodeAt(end - 1))) end--
  return text.slice(start, end)
}

/** Returns the index of the list's next element at or after `start`. Skips empty elements (RFC 9110, section 5.6.1). */
function skipSeparators(list: string, start: number): number {
  let at = start
  while (at < list.length && (list[at] === ',' || isWhitespace(list.charCodeAt(at)))) at++
  return at
}

function isWhitespace(code: number): boolean {
  return code === 0x20 || code === 0x09
}
