import { randomFillSync } from 'node:crypto'

const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** Returns whether the text is a UUID. Other text is never looked up. */
export function isId(text: string): boolean {
  return uuid.test(text)
}

/** Creates a generator of ids that sort by time; ids of one process also sort within a millisecond (RFC 9562, sections 5.7 and 6.2). */
export function timeOrderedIds(): (at: Date) => string {
  const random = Buffer.alloc(8)
  let [last, count] = [0, 0]
  return at => {
    const time = at.getTime()
    count = time === last ? count + 1 : 0
    last = time
    randomFillSync(random)
    // RFC 9562, section 6.2, method 1: a 12-bit counter, then random bits.
    random[0] = ((random[0] ?? 0) & 0x3f) | 0x80
    return format(time, 0x7000 | Math.min(count, 0xfff), random.toString('hex'))
  }
}

/** Returns the lowest id of a millisecond. */
export function firstIdAt(at: Date): string {
  return format(at.getTime(), 0x7000, '8000000000000000')
}

function format(time: number, version: number, tail: string): string {
  const head = time.toString(16).padStart(12, '0')
  return `${head.slice(0, 8)}-${head.slice(8)}-${version.toString(16)}-${tail.slice(0, 4)}-${tail.slice(4)}`
}
