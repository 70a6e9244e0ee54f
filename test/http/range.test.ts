import fc from 'fast-check'
import t from 'tap'
import { maxRanges, parseRange, type Span } from '../../src/http/content/conditions.ts'

const digits = fc.oneof(fc.nat(30).map(String), fc.constantFrom('00', '007', '9'.repeat(25), '9007199254740993'))
const spec = fc.oneof(
  { weight: 6, arbitrary: fc.tuple(digits, digits).map(([a, b]) => `${a}-${b}`) },
  { weight: 3, arbitrary: digits.map(a => `${a}-`) },
  { weight: 3, arbitrary: digits.map(b => `-${b}`) },
  { weight: 1, arbitrary: fc.constantFrom('', '-', 'a-b', '1', '--1', '1--2', '+1-2', '1-2-3', '0x1-2', '１-２') },
)
const separator = fc.constantFrom(',', ', ', ' ,', '\t,\t')
const header = fc
  .tuple(fc.array(spec, { minLength: 1, maxLength: 20 }), separator, fc.constantFrom('bytes', 'Bytes', 'BYTES'))
  .map(([specs, between, unit]) => `${unit}=${specs.join(between)}`)
const size = fc.nat(24)

/** A naive implementation of RFC 9110, sections 14.1.1 and 14.1.2. Returns null if the header is ignored. */
function oracle(text: string, bytes: number): Set<number>[] | null {
  const specs = text
    .slice(text.indexOf('=') + 1)
    .split(',')
    .map(one => one.replace(/^[ \t]*/, '').replace(/[ \t]*$/, ''))
    .filter(one => one !== '')
  if (specs.length === 0 || specs.length > maxRanges) return null
  const chosen: Set<number>[] = []
  for (const one of specs) {
    const dash = one.indexOf('-')
    const [from, to] = [one.slice(0, dash), one.slice(dash + 1)]
    const isNumber = (part: string) => [...part].every(character => '0123456789'.includes(character))
    if (dash < 0 || !isNumber(from) || !isNumber(to) || one === '-') return null
    if (from !== '' && to !== '' && BigInt(to) < BigInt(from)) return null
    const positions = new Set<number>()
    for (let position = 0; position < bytes; position++) {
      const at = BigInt(position)
      const isIn =
        from === '' ? at >= BigInt(bytes) - BigInt(to) : at >= BigInt(from) && (to === '' || at <= BigInt(to))
      if (isIn) positions.add(position)
    }
    if (from === '' && BigInt(to) > 0n && bytes === 0) return null
    if (positions.size > 0) chosen.push(positions)
  }
  return chosen
}

const positionsOf = ({ first, last }: Span) => Array.from({ length: last - first + 1 }, (_, index) => first + index)

t.test('every header selects the bytes that RFC 9110 requires', async () => {
  fc.assert(
    fc.property(header, size, (text, bytes) => {
      const expected = oracle(text, bytes)
      const parsed = parseRange(text, bytes)
      if (expected === null) return parsed.kind === 'whole'
      if (expected.length === 0) return parsed.kind === 'unsatisfiable'
      if (parsed.kind !== 'spans') return false
      const wanted = new Set(expected.flatMap(positions => [...positions]))
      const got = parsed.spans.flatMap(positionsOf)
      const once = new Set(got)
      return once.size === got.length && once.symmetricDifference(wanted).size === 0
    }),
    { numRuns: 5000 },
  )
})

t.test('parts keep their order unless some were joined', async () => {
  fc.assert(
    fc.property(header, size, (text, bytes) => {
      const parsed = parseRange(text, bytes)
      const expected = oracle(text, bytes)
      if (parsed.kind !== 'spans' || expected === null || parsed.spans.length < expected.length) return true
      return parsed.spans.every(({ first }, index) => first === Math.min(...(expected[index] ?? [])))
    }),
  )
})

t.test('a header that is not a byte range is ignored', async t => {
  const many = `bytes=${Array.from({ length: maxRanges + 1 }, (_, index) => `${2 * index}-${2 * index}`).join(',')}`
  const headers = ['', 'bytes', 'bytes=', 'bytes=,', 'bytes =0-1', ' bytes=0-1', 'items=0-1', 'bytes=0-1;x', many]
  for (const text of headers) t.same(parseRange(text, 100), { kind: 'whole' }, text)
})
