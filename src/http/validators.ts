/** Entity tags and HTTP dates: RFC 9110, sections 5.6.7 and 8.8. */

interface EntityTag {
  weak: boolean
  opaque: string
}

const tagPattern = /^(W\/)?"([\x21\x23-\x7e\x80-\xff]*)"[ \t]*(?:,[ \t]*|$)/
const days = '(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)'
const months = '(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)'
const fixdate = new RegExp(`^${days}, \\d{2} ${months} \\d{4} \\d{2}:\\d{2}:\\d{2} GMT$`)
const rfc850 = new RegExp(`^${days}[a-z]*day, \\d{2}-${months}-\\d{2} \\d{2}:\\d{2}:\\d{2} GMT$`)
const asctime = new RegExp(`^${days} ${months} [ \\d]\\d \\d{2}:\\d{2}:\\d{2} \\d{4}$`)

export function formatTag(etag: string): string {
  return `"${etag}"`
}

/** A comma-separated list; null where it is malformed. */
function parseTags(header: string): EntityTag[] | null {
  const tags: EntityTag[] = []
  let rest = header.replace(/^[ \t,]+|[ \t,]+$/g, '')
  while (rest !== '') {
    const match = tagPattern.exec(rest)
    if (!match) return null
    tags.push({ weak: match[1] !== undefined, opaque: match[2] ?? '' })
    rest = rest.slice(match[0].length).replace(/^[ \t,]+/, '')
  }
  return tags
}

/** Whether a header such as If-Match names the tag; `strong` leaves weak ones out (section 8.8.3.2). */
export function namesTag(header: string, etag: string | null, comparison: 'strong' | 'weak'): boolean {
  if (header.trim() === '*') return true
  if (etag === null) return false
  return (parseTags(header) ?? []).some(({ weak, opaque }) => opaque === etag && !(weak && comparison === 'strong'))
}

/** Milliseconds, or null where it is none of the three forms of a date. */
export function parseHttpDate(text: string): number | null {
  const zoned = asctime.test(text) ? `${text} GMT` : fixdate.test(text) || rfc850.test(text) ? text : null
  const time = zoned === null ? Number.NaN : Date.parse(zoned)
  return Number.isNaN(time) ? null : time
}

/** HTTP dates count in seconds. */
export function wholeSeconds(date: Date): number {
  return Math.floor(date.getTime() / 1000) * 1000
}
