import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import type { Entry, ResumableWrites, StorageProvider } from '../contract.ts'
import { at, bodyOf, type Case, call, has, isMissing, namesIn, pattern, put, rejectsWith, stalledBody } from './kit.ts'

const needs: NonNullable<Case['needs']> = ({ resumable }) => (resumable ? undefined : 'resumable writes')

/** Of the state, in bytes of UTF-8. */
const maxStateBytes = 8 * 1024

export const resumableCases: Case[] = [
  {
    name: 'resumable: parts make a file that shows when it is complete, and not before',
    needs,
    async run(provider) {
      const resumable = resumableOf(provider)
      const bytes = pattern(2 * stepOf(resumable) + 1)
      const upload = await begin(resumable, 'made/up/file', bytes)
      await upload.appendNext()
      await upload.appendNext()
      assert.deepEqual(await namesIn(provider, ''), [], 'an unfinished upload shows')
      await isMissing(provider, 'made/up/file')
      await upload.appendNext()
      await isMissing(provider, 'made/up/file')
      const entry = await upload.complete()
      assert.equal(entry.size, bytes.length)
      assert.deepEqual(entry, await provider.stat(at('made/up/file'), call()))
      await has(provider, 'made/up/file', bytes)
    },
  },
  {
    name: 'resumable: sizes from nothing to whole parts, with the size announced and not',
    needs,
    async run(provider) {
      const resumable = resumableOf(provider)
      for (const size of [0, 1, stepOf(resumable) - 1, stepOf(resumable), 2 * stepOf(resumable)]) {
        for (const announced of [true, false]) {
          const bytes = pattern(size, size)
          const path = `${size} ${announced}`
          const upload = await begin(resumable, path, bytes, announced)
          await upload.appendAll()
          await upload.complete()
          await has(provider, path, bytes)
        }
      }
    },
  },
  {
    name: 'resumable: an end that comes without bytes, after whole parts of a size that nobody knew',
    needs,
    async run(provider) {
      const resumable = resumableOf(provider)
      const bytes = pattern(stepOf(resumable))
      let state = await resumable.begin(at('file'), call())
      const whole = { ...call(), offset: 0, size: bytes.length, last: false }
      state = checked(await resumable.append(state, bodyOf(bytes), whole))
      const end = { ...call(), offset: bytes.length, size: 0, last: true }
      state = checked(await resumable.append(state, bodyOf(''), end))
      await resumable.complete(state, { ...call(), overwrite: false })
      await has(provider, 'file', bytes)
    },
  },
  {
    name: 'resumable: an append whose answer was lost is sent again, each one of them',
    needs,
    async run(provider) {
      const resumable = resumableOf(provider)
      const bytes = pattern(2 * stepOf(resumable) + 1000)
      const upload = await begin(resumable, 'file', bytes)
      for (let part = 0; part < 3; part += 1) {
        await upload.sendNext()
        await upload.appendNext()
      }
      await upload.complete()
      await has(provider, 'file', bytes)
    },
  },
  {
    name: 'resumable: an append that broke off half way is sent again whole',
    needs,
    async run(provider) {
      const resumable = resumableOf(provider)
      const bytes = pattern(2 * stepOf(resumable) + 1000)
      const upload = await begin(resumable, 'file', bytes)
      const size = stepOf(resumable)
      for (const offset of [0, size]) {
        const options = { offset, size, last: false }
        const dropped = new Error('read ECONNRESET')
        function* half() {
          yield bytes.subarray(offset, offset + size / 2)
          throw dropped
        }
        await assert.rejects(
          resumable.append(upload.state(), Readable.from(half()), { ...call(), ...options }),
          error => error === dropped,
        )
        const controller = new AbortController()
        const body = stalledBody(bytes.subarray(offset, offset + size / 2))
        const aborted = resumable.append(upload.state(), body, { signal: controller.signal, ...options })
        setTimeout(() => controller.abort(dropped), 60)
        await assert.rejects(aborted, error => error === dropped)
        assert.ok(body.destroyed, 'the body was not destroyed')
        await upload.appendNext()
      }
      await upload.appendNext()
      await upload.complete()
      await has(provider, 'file', bytes)
    },
  },
  {
    name: 'resumable: a call with a signal that is aborted already rejects with its reason and changes nothing',
    needs,
    async run(provider) {
      const resumable = resumableOf(provider)
      const bytes = pattern(resumable.partSize + 1)
      const upload = await begin(resumable, 'file', bytes)
      await upload.appendNext()
      const reason = new Error('the client went away')
      const aborted = { signal: AbortSignal.abort(reason) }
      const body = stalledBody(Buffer.from('n'))
      // So that an append which waits for the rest of it comes to an end.
      const giveUp = setTimeout(() => body.destroy(new Error('it waits for the body')), 2000)
      const calls = [
        resumable.append(upload.state(), body, { ...aborted, offset: upload.offset(), size: 2, last: true }),
        resumable.complete(upload.state(), { ...aborted, overwrite: true }),
        resumable.abort(upload.state(), aborted),
      ]
      for (const result of await Promise.allSettled<unknown>(calls)) {
        assert.ok(result.status === 'rejected' && result.reason === reason, 'it did not reject with the reason')
      }
      clearTimeout(giveUp)
      assert.ok(body.destroyed, 'the body was not destroyed')
      await upload.appendNext()
      await upload.complete()
      await has(provider, 'file', bytes)
    },
  },
  {
    name: 'resumable: another replica goes on where the first one stood, with nothing but the state',
    needs: (provider, harness) => needs(provider, harness) ?? (harness.reopen ? undefined : 'reopen of the harness'),
    async run(provider, harness) {
      const bytes = pattern(2 * stepOf(resumableOf(provider)) + 1000)
      const first = await begin(resumableOf(provider), 'file', bytes)
      await first.appendNext()
      const other = await harness.reopen?.(provider)
      assert.ok(other)
      try {
        const upload = goOn(resumableOf(other), bytes, structuredClone(first.state()), first.offset())
        await upload.appendNext()
        // And back, with the answer of the other one.
        const again = goOn(resumableOf(provider), bytes, upload.state(), upload.offset())
        await again.appendNext()
        await goOn(resumableOf(other), bytes, again.state(), again.offset()).complete()
        await has(provider, 'file', bytes)
        await has(other, 'file', bytes)
      } finally {
        await other.close?.()
      }
    },
  },
  {
    name: 'resumable: what is given up leaves nothing, and giving up again, or after the end, changes nothing',
    needs,
    async run(provider) {
      const resumable = resumableOf(provider)
      const bytes = pattern(stepOf(resumable) + 1)
      await put(provider, 'kept', 'kept')
      for (const path of ['new', 'made/up/new', 'kept']) {
        const upload = await begin(resumable, path, bytes)
        const states = [upload.state()]
        for (let part = 0; part < 2; part += 1) {
          await upload.appendNext()
          states.push(upload.state())
        }
        await resumable.abort(upload.state(), call())
        for (const state of states) await resumable.abort(state, call())
      }
      assert.deepEqual(await namesIn(provider, ''), ['kept'])
      await has(provider, 'kept', 'kept')
      const upload = await begin(resumable, 'whole', bytes)
      await upload.appendAll()
      await upload.complete()
      await resumable.abort(upload.state(), call())
      await has(provider, 'whole', bytes)
    },
  },
  {
    name: 'resumable: a file that is there is kept or replaced as asked',
    needs,
    async run(provider) {
      const resumable = resumableOf(provider)
      await put(provider, 'file', 'old')
      const refused = await begin(resumable, 'file', pattern(1000))
      await refused.appendAll()
      await has(provider, 'file', 'old')
      await rejectsWith('ALREADY_EXISTS', refused.complete())
      await has(provider, 'file', 'old')
      await resumable.abort(refused.state(), call())
      const replacing = await begin(resumable, 'file', pattern(2000))
      await replacing.appendAll()
      await has(provider, 'file', 'old')
      await replacing.complete(true)
      await has(provider, 'file', pattern(2000))
      assert.deepEqual(await namesIn(provider, ''), ['file'])
    },
  },
  {
    name: 'resumable: two uploads to one path know nothing of one another, and one of them wins',
    needs,
    async run(provider) {
      const resumable = resumableOf(provider)
      const contents = [pattern(stepOf(resumable) + 1), pattern(stepOf(resumable) + 1, 99)]
      const uploads = await Promise.all(contents.map(bytes => begin(resumable, 'file', bytes)))
      for (let part = 0; part < 2; part += 1) await Promise.all(uploads.map(upload => upload.appendNext()))
      const results = await Promise.allSettled(uploads.map(upload => upload.complete()))
      const winners = results.flatMap((result, i) => (result.status === 'fulfilled' ? [i] : []))
      assert.ok(winners.length > 0, 'nobody won')
      if (provider.traits.atomicCreate) assert.equal(winners.length, 1, 'both won')
      for (const result of results)
        if (result.status === 'rejected') assert.equal(result.reason.code, 'ALREADY_EXISTS', String(result.reason))
      const won = await Promise.allSettled(winners.map(i => has(provider, 'file', contents[i] ?? '')))
      assert.ok(
        won.some(({ status }) => status === 'fulfilled'),
        'the file is neither of those that won',
      )
    },
  },
]

function resumableOf({ resumable }: StorageProvider): ResumableWrites {
  assert.ok(resumable)
  assert.ok(Number.isSafeInteger(resumable.partSize) && resumable.partSize > 0, `a part size of ${resumable.partSize}`)
  return resumable
}

/** Bytes of an append: where parts may be tiny, so many that they take some time. */
function stepOf({ partSize }: ResumableWrites): number {
  return partSize * Math.ceil((64 * 1024) / partSize)
}

interface Sending {
  state(): string
  offset(): number
  /** Sends the next part and forgets the answer, as if it had been lost. */
  sendNext(): Promise<string>
  appendNext(): Promise<void>
  appendAll(): Promise<void>
  complete(overwrite?: boolean): Promise<Entry>
}

async function begin(resumable: ResumableWrites, path: string, bytes: Buffer, announced = true): Promise<Sending> {
  const size = announced ? { size: bytes.length } : {}
  return goOn(resumable, bytes, checked(await resumable.begin(at(path), { ...call(), ...size })), 0)
}

function goOn(resumable: ResumableWrites, bytes: Buffer, given: string, from: number): Sending {
  let [state, offset, ended] = [given, from, false]
  const next = () => bytes.subarray(offset, offset + stepOf(resumable))
  const sendNext = () => {
    const last = offset + stepOf(resumable) >= bytes.length
    return resumable.append(state, bodyOf(next()), { ...call(), offset, size: next().length, last })
  }
  const appendNext = async () => {
    state = checked(await sendNext())
    ended = offset + stepOf(resumable) >= bytes.length
    offset += next().length
  }
  return {
    state: () => state,
    offset: () => offset,
    sendNext,
    appendNext,
    async appendAll() {
      while (!ended) await appendNext()
    },
    complete: (overwrite = false) => resumable.complete(state, { ...call(), overwrite }),
  }
}

function checked(state: string): string {
  assert.equal(typeof state, 'string', 'the state is not text')
  const length = Buffer.byteLength(state)
  assert.ok(length <= maxStateBytes, `the state has ${length} bytes; the host stores ${maxStateBytes} at most`)
  return state
}
