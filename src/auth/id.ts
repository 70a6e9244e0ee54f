import { randomUUID } from 'node:crypto'

const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** Returns whether the text is a UUID. Other text is never looked up. */
export function isId(text: string): boolean {
  return uuid.test(text)
}

/** Creates a generator of ids that sort by time; ids of one process also sort within a millisecond (RFC 9562, sections 5.7 and 6.2). */
export function timeOrderedIds(): (at: Date) => string {
  let [last, count] = [0, 0]
  return at => {
    const time = at.getTime()
    count = time === last ? count + 1 : 0
    last = time
    // RFC 9562, section 6.2, method 1: a 12-bit counter, then random bits. Version 4 has its random bits at the same position.
    // randomUUID() reads random bytes for many UUIDs at once, which is faster than a system call for each id.
    return format(time, 0x7000 | Math.min(count, 0xfff), randomUUID().slice(tailStart))
  }
}

/** Returns the lowest id of a millisecond. */
export function firstIdAt(at: Date): string {
  return format(at.getTime(), 0x7000, '8000-000000000000')
}

/** The index in a UUID of its last two groups, with the variant and 62 bits. */
const tailStart = 19

function format(time: number, version: number, tail: string): string {
  const head = time.toString(16).padStart(12, '0')
  return `${head.slice(0, 8)}-${head.slice(8)}-${version.toString(16)}-${tail}`
}
