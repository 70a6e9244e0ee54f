import { randomBytes } from 'node:crypto'
import fc from 'fast-check'
import t from 'tap'
import { Redaction } from '../../src/log/redaction.ts'
import { extent } from '../support/extent.ts'

const random = () => randomBytes(24).toString('base64url')

/** Measures milliseconds and returns the lowest of several measurements. */
function cost(work: () => void): number {
  const times = Array.from({ length: extent({ gate: 3, nightly: 7 }) }, () => {
    const begin = process.cpuUsage()
    work()
    const { user, system } = process.cpuUsage(begin)
    return (user + system) / 1000
  })
  return Math.min(...times)
}

t.test('secrets are found in all their encodings', async t => {
  const secrets = ['eight ch', 'pass wörd "\\ \u{1f511}', random(), 'x'.repeat(1000), `${random()}/+=${random()}`]
  const redaction = new Redaction()
  redaction.hold(...secrets)
  const encodings: Record<string, (text: string) => string> = {
    plain: text => text,
    json: text => JSON.stringify({ text }),
    'json in json': text => JSON.stringify({ text: JSON.stringify({ text }) }),
    percent: encodeURIComponent,
    form: text => new URLSearchParams({ text }).toString(),
    base64: text => Buffer.from(text).toString('base64'),
    'base64 in a longer text': text => Buffer.from(`ab${text}yz`).toString('base64'),
    base64url: text => Buffer.from(`a${text}z`).toString('base64url'),
    hex: text => Buffer.from(text).toString('hex'),
    'capital hex': text => Buffer.from(text).toString('hex').toUpperCase(),
  }
  for (const secret of secrets) {
    for (const [name, encode] of Object.entries(encodings)) {
      const encoded = encode(secret)
      const redacted = redaction.redact(`before ${encoded} after`)
      t.match(redacted, /^before .*\[redacted\].* after$/, name)
      // The remaining characters of base64 and the quotes around it.
      t.ok(redacted.length < 'before [redacted] after'.length + 30, redacted)
    }
  }
  t.equal(redaction.redact('no secret here'), 'no secret here')
  t.equal(redaction.redact(''), '')
})

t.test('each line of a private key is a secret, and short words are not', async t => {
  const lines = Array.from({ length: 20 }, () => randomBytes(48).toString('base64'))
  const redaction = new Redaction()
  redaction.hold(['-----BEGIN PRIVATE KEY-----', ...lines, 'short'].join('\n'), 'seven..', 7, null)
  for (const line of lines) t.equal(redaction.redact(`x ${line} y`), 'x [redacted] y')
  t.equal(redaction.redact('short seven.. 7'), 'short seven.. 7')
})

t.test('it finds the same secrets as a simple search', async () => {
  const letters = fc.string({ unit: fc.constantFrom('a', 'b'), minLength: 8, maxLength: 80 })
  fc.assert(
    fc.property(fc.array(letters, { minLength: 1, maxLength: 5 }), fc.array(letters), (secrets, pieces) => {
      const redaction = new Redaction()
      redaction.hold(...secrets)
      const text = pieces.join('|')
      const isHidden = Array.from(text, () => false)
      for (const secret of secrets) {
        for (let at = text.indexOf(secret); at >= 0; at = text.indexOf(secret, at + 1)) {
          isHidden.fill(true, at, at + secret.length)
        }
      }
      const kept = Array.from(text).filter((_, at) => !isHidden[at])
      const left = redaction.redact(text).replaceAll('[redacted]', '')
      // Parts of a long secret are redacted, too.
      const isSame = secrets.every(({ length }) => length <= 64) ? left === kept.join('') : left.length <= kept.length
      if (!isSame) throw new Error(`${secrets} in ${text}: ${left}`)
    }),
  )
})

t.test('a secret in use is never forgotten, and a released one is forgotten later', async t => {
  const redaction = new Redaction()
  const [first, twice] = [random(), random()]
  const hold = redaction.hold(first, twice)
  const again = redaction.hold(twice)
  let most = 0
  for (let n = 0; n < extent({ gate: 1000, nightly: 5000 }); n++) {
    const secret = random()
    using _held = redaction.hold(secret)
    if (redaction.redact(secret) !== '[redacted]') t.fail('a secret in use was not redacted')
    most = Math.max(most, redaction.size)
  }
  t.equal(redaction.redact(`${first} ${twice}`), '[redacted] [redacted]', 'after many others')
  t.ok(most < 21_000, `the search has up to ${most} texts`)
  hold[Symbol.dispose]()
  hold[Symbol.dispose]()
  t.equal(redaction.redact(first), '[redacted]', 'a released secret is still redacted in late lines')
  const others = Array.from({ length: 6000 }, random)
  for (const other of others) redaction.hold(other)[Symbol.dispose]()
  t.equal(redaction.redact(first), first, 'it is forgotten after a long time without use')
  t.equal(redaction.redact(twice), '[redacted]', 'another holder still uses it')
  again[Symbol.dispose]()
  const idle = redaction.hold(others.at(-1))
  t.equal(redaction.redact(others.at(-1) ?? ''), '[redacted]', 'a released secret can be used again')
  idle[Symbol.dispose]()
})

t.test('the time is independent of the number of secrets and proportional to the length of a line', async t => {
  const line = JSON.stringify({ level: 30, req: { url: '/api/download/proxy?path=%2Fa' }, msg: 'request done' })
  const lines = Array.from({ length: 3000 }, (_, n) => `${line}${n}`)
  const [few, many] = [new Redaction(), new Redaction()]
  few.hold(random())
  for (let n = 0; n < 1000; n++) many.hold(random())
  const all = (redaction: Redaction) => () => {
    for (const line of lines) redaction.redact(line)
  }
  const [small, large] = [cost(all(few)), cost(all(many))]
  t.comment(`3,000 lines: ${small.toFixed(1)} ms with one secret, ${large.toFixed(1)} ms with 1,000`)
  t.ok(large < 10 * small, `${(large / small).toFixed(1)} times`)

  // Each position of the line almost matches.
  const alike = new Redaction()
  for (let n = 0; n < 1000; n++) alike.hold(`${'a'.repeat(60 + (n % 40))}${n}`)
  alike.hold('a'.repeat(30_000), 'ab'.repeat(15_000))
  const units = ['ab', 'a', `${'a'.repeat(63)}b`]
  for (const unit of units.slice(0, extent({ gate: 1, nightly: units.length }))) {
    const text = (length: number) => unit.repeat(length / unit.length)
    const [short, long] = [text(100_000), text(800_000)]
    const times = cost(() => alike.redact(long)) / cost(() => alike.redact(short))
    // Quadratic time takes 64 times as long. The caches of the processor make a long text slower by itself.
    t.ok(times < 40, `${unit.slice(0, 2)}: ${times.toFixed(1)} times for eight times the length`)
  }
})
