/** The parser of server-sent events. */
import fc from 'fast-check'
import t from 'tap'
import { parseEvents, type ServerEvent } from '../../packages/client/src/events.ts'
import { atNight, extent } from '../support/extent.ts'

async function eventsOf(chunks: Iterable<Uint8Array>): Promise<ServerEvent[]> {
  const iterator = chunks[Symbol.iterator]()
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      const { done, value } = iterator.next()
      if (done) controller.close()
      else controller.enqueue(value)
    },
  })
  const events: ServerEvent[] = []
  for await (const event of parseEvents(body)) events.push(event)
  return events
}

function* pieces(bytes: Uint8Array, length: number): Generator<Uint8Array, void, undefined> {
  for (let start = 0; start < bytes.length; start += length) yield bytes.subarray(start, start + length)
}

/** Parses a whole text at once. A lone CR ends a line, and an event without data is none, as the standard says. */
function expected(text: string): ServerEvent[] {
  const blocks = text.replace(/\r\n?/g, '\n').split('\n\n').slice(0, -1)
  return blocks.flatMap(block => {
    const fields = block.split('\n').map(line => /^(event|data)(?:: ?(.*))?$/s.exec(line))
    const valuesOf = (field: string) => fields.flatMap(found => (found?.[1] === field ? (found[2] ?? '') : []))
    const [event, data] = [valuesOf('event').at(-1) || 'message', valuesOf('data')]
    return data.length === 0 ? [] : { event, data: data.join('\n') }
  })
}

t.test('the events are the same, wherever the stream is cut', async t => {
  const part = fc.constantFrom(
    '\n',
    '\r\n',
    '\n\n',
    '\r\n\r\n',
    '\r',
    'data: ',
    'data:',
    'event: next',
    ':',
    ' ',
    'ü😀',
    'x',
  )
  const stream = fc.array(part, { maxLength: 60 }).map(parts => parts.join(''))
  const cuts = fc.array(fc.nat(200), { maxLength: 30 })
  await fc.assert(
    fc.asyncProperty(stream, cuts, async (text, cuts) => {
      const bytes = new TextEncoder().encode(text)
      const ends = [...cuts.filter(at => at < bytes.length).toSorted((a, b) => a - b), bytes.length]
      const chunks = ends.map((end, n) => bytes.subarray(ends[n - 1] ?? 0, end))
      t.same(await eventsOf(chunks), expected(text))
      t.same(await eventsOf(pieces(bytes, 1)), expected(text))
    }),
    { numRuns: extent({ gate: 100, nightly: 300 }) },
  )
})

t.test('the time of a long event does not depend on the length of its chunks', async t => {
  const data = 'x'.repeat(12 * 1024 * 1024)
  const bytes = new TextEncoder().encode(`event: next\r\ndata: ${data}\r\n\r\n`)
  // A parser that looks at the whole event again for each of the 200,000 chunks would need many minutes.
  const [event, ...others] = await eventsOf(pieces(bytes, 64))
  t.same(others, [])
  t.equal(event?.event, 'next')
  t.ok(event?.data === data)
})

atNight(t, 'the time of many lines does not depend on how they end', async t => {
  const lines = 2 * 1024 * 1024
  for (const end of ['\n', '\r']) {
    const other = end === '\n' ? '\r' : '\n'
    const bytes = new TextEncoder().encode(`${end.repeat(lines)}data: x${end}${end}${other}`)
    // A parser that searches the rest of the text for both ends at each line would need minutes.
    t.same(await eventsOf([bytes]), [{ event: 'message', data: 'x' }], JSON.stringify(end))
  }
})

t.test('an event has a limit, however it arrives', async t => {
  const tooLong = { name: 'StowageError', message: 'An event of the subscription is too long.' }
  const [limit, encoder] = [16 * 1024 * 1024, new TextEncoder()]
  const line = encoder.encode(`data: ${'x'.repeat(limit)}`)
  await t.rejects(eventsOf(pieces(line, 64 * 1024)), tooLong)
  await t.rejects(eventsOf([encoder.encode(`data: ${'x'.repeat(limit)}\n\n`)]), tooLong)
  await t.rejects(
    eventsOf(pieces(encoder.encode(`: ${'x'.repeat(1021)}\n`.repeat(limit / 1024 + 1)), 64 * 1024)),
    tooLong,
  )
  const short = encoder.encode(`data: ${'x'.repeat(1000)}\n\n`.repeat(limit / 1000 + 1))
  t.equal((await eventsOf(pieces(short, 64 * 1024))).length, Math.floor(limit / 1000 + 1), 'the stream has none')
})
