import { PassThrough, Readable } from 'node:stream'
import t from 'tap'
import { AppError } from '../../src/errors.ts'
import { checkedBody } from '../../src/services/files/upload.ts'
import { detach, exactBody } from '../../src/storage/body-streams.ts'

const bytesOf = async (body: Readable): Promise<string> => Buffer.concat(await body.toArray()).toString()
const closed = (body: Readable) => new Promise(resolve => body.once('close', resolve))
const broken = () => new Error('broken')

const failures: Record<string, (body: Readable) => Promise<unknown>> = {
  async 'failed before'(body) {
    body.on('error', () => {}).destroy(broken())
    await closed(body)
  },
  async 'was closed before'(body) {
    body.destroy()
    await closed(body)
  },
  async 'was read before'(body) {
    body.push(null)
    await body.resume().toArray()
  },
}
const later: Record<string, (body: Readable) => void> = {
  'fails later': body => body.destroy(broken()),
  'is closed later': body => body.destroy(),
}

const tooLarge = () => new AppError('TOO_LARGE')
const pipes: Record<string, (body: Readable) => Readable> = {
  detach,
  exactBody: body => exactBody(body, null),
  checkedBody: body => checkedBody({ body }, { maxBytes: 1000, tooLarge }).body,
}

for (const [name, pipe] of Object.entries(pipes)) {
  t.test(`${name} ends with its body`, async t => {
    t.equal(await bytesOf(pipe(Readable.from([Buffer.from('whole')], { objectMode: false }))), 'whole')
    for (const [what, fail] of Object.entries(failures)) {
      const body = new PassThrough()
      await fail(body)
      await t.rejects(bytesOf(pipe(body)), what)
    }
    for (const [what, fail] of Object.entries(later)) {
      const body = new PassThrough()
      body.write('begun')
      const reading = bytesOf(pipe(body))
      setImmediate(fail, body)
      await t.rejects(reading, what)
    }
  })
}

t.test('a stream that nobody reads may fail', async t => {
  const body = new PassThrough()
  const piped = detach(body)
  body.on('error', () => {}).destroy(broken())
  await closed(piped)
  t.match(piped.errored, broken())
  await t.rejects(bytesOf(detach(piped)), broken(), 'and so does the next stream')
})

t.test('closing the stream leaves a request open', async t => {
  const body = new PassThrough()
  const piped = detach(body)
  piped.destroy()
  await closed(piped)
  t.notOk(body.destroyed)
})
