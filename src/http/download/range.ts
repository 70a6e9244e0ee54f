/** Byte ranges: RFC 9110, section 14. */
import { trimWhitespace } from '../header-text.ts'

/** Positions of the first and the last byte. */
export interface Span {
  first: number
  last: number
}

export type RangeAnswer = { kind: 'whole' } | { kind: 'unsatisfiable' } | { kind: 'spans'; spans: Span[] }

/** Whoever asks for more in one request gets the whole file: many small ranges cost more than they save. */
export const maxRanges = 16

const whole: RangeAnswer = { kind: 'whole' }
const specPattern = /^(\d*)-(\d*)$/

/**
 * What a Range header asks of a file of `size` bytes. A header that is malformed, of another unit or too long is ignored,
 * as section 14.2 says. Spans that overlap or touch are joined; else their order is kept.
 */
export function parseRange(header: string, size: number): RangeAnswer {
  const set = /^bytes=(.*)$/i.exec(header)?.[1]
  if (set === undefined) return whole
  const specs = set.split(',', 4 * maxRanges + 1).map(trimWhitespace)
  const given = specs.filter(spec => spec !== '')
  if (given.length === 0 || given.length > maxRanges || specs.length > 4 * maxRanges) return whole
  const spans: Span[] = []
  for (const spec of given) {
    const span = parseSpec(spec, size)
    if (span === 'malformed' || span === 'everything') return whole
    if (span !== 'unsatisfiable') spans.push(span)
  }
  return spans.length === 0 ? { kind: 'unsatisfiable' } : { kind: 'spans', spans: joinOverlapping(spans) }
}

function parseSpec(spec: string, size: number): Span | 'malformed' | 'everything' | 'unsatisfiable' {
  const [, from, to] = specPattern.exec(spec) ?? []
  if (from === undefined || to === undefined || (from === '' && to === '')) return 'malformed'
  if (from === '') {
    if (Number(to) === 0) return 'unsatisfiable'
    // The last bytes of an empty file are all of it, which no Content-Range can say.
    return size === 0 ? 'everything' : { first: Math.max(0, size - Number(to)), last: size - 1 }
  }
  const first = Number(from)
  if (to !== '' && isBelow(to, from)) return 'malformed'
  if (first >= size) return 'unsatisfiable'
  return { first, last: to === '' ? size - 1 : Math.min(Number(to), size - 1) }
}

/** Exact, however many digits. */
function isBelow(a: string, b: string): boolean {
  return BigInt(a) < BigInt(b)
}

function joinOverlapping(spans: Span[]): Span[] {
  const sorted = [...spans].sort((a, b) => a.first - b.first)
  const joined: Span[] = []
  for (const span of sorted) {
    const before = joined.at(-1)
    if (before && span.first <= before.last + 1) before.last = Math.max(before.last, span.last)
    else joined.push({ ...span })
  }
  return joined.length === spans.length ? spans : joined
}
