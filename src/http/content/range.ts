/** Byte ranges: RFC 9110, section 14. */
import type { ByteRange } from '../../../adapters/contract.ts'
import { trimWhitespace } from './validators.ts'

/** A range of bytes; `first` and `last` are positions, both included. */
export interface Span {
  first: number
  last: number
}

export type RequestedRange = { kind: 'whole' } | { kind: 'unsatisfiable' } | { kind: 'spans'; spans: Span[] }

/**
 * The maximum number of ranges. A request with more ranges gets the whole file, because many small ranges cost more
 * than they save.
 */
export const maxRanges = 16

const whole: RequestedRange = { kind: 'whole' }
const specPattern = /^(\d*)-(\d*)$/

/**
 * Parses a Range header for a file of `size` bytes. A header that is malformed, too long or in another unit is ignored
 * (section 14.2). Spans that overlap or touch are joined; otherwise their order is kept.
 */
export function parseRange(header: string, size: number): RequestedRange {
  const set = /^bytes=(.*)$/i.exec(header)?.[1]
  if (set === undefined) return whole
  const specs = set.split(',', 4 * maxRanges + 1).map(trimWhitespace)
  const present = specs.filter(spec => spec !== '')
  if (present.length === 0 || present.length > maxRanges || specs.length > 4 * maxRanges) return whole
  const spans: Span[] = []
  for (const spec of present) {
    const span = parseSpec(spec, size)
    if (span === 'malformed' || span === 'everything') return whole
    if (span !== 'unsatisfiable') spans.push(span)
  }
  return spans.length === 0 ? { kind: 'unsatisfiable' } : { kind: 'spans', spans: joinOverlapping(spans) }
}

/** Parses a Range header with one range that does not depend on the size of the file. Returns null for any other. */
export function parseFixedRange(header: string): ByteRange | null {
  const [, from, to] = /^bytes=(\d+)-(\d*)$/i.exec(header) ?? []
  const [offset, last] = [Number(from), to ? Number(to) : undefined]
  if (!Number.isSafeInteger(offset) || !Number.isSafeInteger(last ?? 0)) return null
  if (last === undefined) return { offset }
  return last < offset ? null : { offset, length: last - offset + 1 }
}

function parseSpec(spec: string, size: number): Span | 'malformed' | 'everything' | 'unsatisfiable' {
  const [, from, to] = specPattern.exec(spec) ?? []
  if (from === undefined || to === undefined || (from === '' && to === '')) return 'malformed'
  if (from === '') {
    if (Number(to) === 0) return 'unsatisfiable'
    // A suffix of an empty file is the whole file, which Content-Range cannot express.
    return size === 0 ? 'everything' : { first: Math.max(0, size - Number(to)), last: size - 1 }
  }
  const first = Number(from)
  if (to !== '' && isBelow(to, from)) return 'malformed'
  if (first >= size) return 'unsatisfiable'
  return { first, last: to === '' ? size - 1 : Math.min(Number(to), size - 1) }
}

/** Compares exactly, whatever the number of digits. */
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
