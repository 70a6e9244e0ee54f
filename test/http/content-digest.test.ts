import { createHash } from 'node:crypto'
import fc from 'fast-check'
import t from 'tap'
import { parseContentDigest } from '../../src/http/content/digests.ts'

const key = fc.constantFrom('sha-384', 'md5', 'unixsum', 'sha', 'sha-256-x', '*a', 'x_y.z', 'id-sha-256')
const bytes = fc.uint8Array({ maxLength: 70 }).map(array => Buffer.from(array))
const digest = fc.string().map(text => createHash('sha256').update(text).digest())
const parameters = fc.constantFrom('', ';a', '; a=1', ';a="b";c=?1')
const others = fc.array(
  fc.tuple(key, bytes, parameters).map(([name, value, rest]) => `${name}=:${value.toString('base64')}:${rest}`),
  { maxLength: 4 },
)
const separator = fc.constantFrom(',', ', ', ' , ', '\t,\t')

t.test('SHA-256 is found among other algorithms; the last one counts if it is repeated', async () => {
  fc.assert(
    fc.property(others, others, fc.array(digest, { minLength: 1, maxLength: 3 }), separator, (a, b, own, between) => {
      const members = own.map(value => `sha-256=:${value.toString('base64')}:`)
      const found = parseContentDigest([...a, ...members, ...b].join(between)).sha256
      return found?.equals(own.at(-1) ?? Buffer.alloc(0)) === true
    }),
  )
})

t.test('other algorithms are ignored', async () => {
  fc.assert(
    fc.property(
      others,
      separator,
      (a, between) => a.length === 0 || Object.keys(parseContentDigest(a.join(between))).length === 0,
    ),
  )
})

t.test('a damaged header never parses as another digest', async () => {
  fc.assert(
    fc.property(digest, fc.nat(60), fc.string({ minLength: 1, maxLength: 2 }), (value, at, damage) => {
      const whole = `sha-256=:${value.toString('base64')}:`
      const text = whole.slice(0, at) + damage + whole.slice(at + damage.length)
      const found = resultOf(text)
      // The damaged header is malformed, names another algorithm, or contains the damage visibly.
      return found === 'INVALID_INPUT' || found === undefined || text.includes(found.toString('base64').slice(0, 42))
    }),
    { numRuns: 2000 },
  )
})

t.test('malformed headers are refused', async t => {
  const value = Buffer.alloc(32).toString('base64')
  const malformed = [
    '',
    'sha-256',
    'sha-256=',
    'sha-256=::',
    `sha-256=${value}`,
    `sha-256=:${value}`,
    `sha-256=:${value.slice(4)}:`,
    `sha-256=:${value}AAAA:`,
    `SHA-256=:${value}:`,
    `sha-256=:${value}:,`,
    `,sha-256=:${value}:`,
    `sha-256 =:${value}:`,
    'sha-256=:_-_-:',
    'sha-512=abc',
    `sha-512=:${value}:`,
    'sha-512="abc"',
  ]
  for (const text of malformed) t.equal(resultOf(text), 'INVALID_INPUT', text)
  t.same(parseContentDigest(undefined), {})
})

function resultOf(text: string): Buffer | undefined | string {
  try {
    return parseContentDigest(text).sha256
  } catch (error) {
    return error instanceof Error && 'reason' in error ? String(error.reason) : 'something else'
  }
}
