import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import type { Entry, ResumableWrites, StorageProvider } from '../contract.ts'
import { at, bodyOf, type Case, call, has, isMissing, namesIn, pattern, put, rejectsWith, stalledBody } from './kit.ts'

const needs: NonNullable<Case['needs']> = ({ resumable }) => (resumable ? undefined : 'resumable writes')

/** The maximum size of a state, in bytes of UTF-8. */
const maxStateBytes = 8 * 1024

export const resumableCases: Case[] = [
  {
    name: 'resumable: a file becomes visible when it is complete, not before',
    needs,
    async run(provider) {
      const resumable = resumableOf(provider)
      const bytes = pattern(2 * stepOf(resumable) + 1)
      const upload = await begin(resumable, 'made/up/file', bytes)
      await upload.appendNext()
      await upload.appendNext()
      assert.deepEqual(await namesIn(provider, ''), [], 'an unfinished upload is visible')
      await isMissing(provider, 'made/up/file')
      const entry = await upload.complete()
      assert.equal(entry.size, bytes.length)
      assert.deepEqual(entry, await provider.stat(at('made/up/file'), call()))
      await has(provider, 'made/up/file', bytes)
    },
  },
  {
    name: 'resumable: sizes from zero to whole parts are stored, with and without a known size',
    needs,
    async run(provider) {
      const resumable = resumableOf(provider)
      for (const size of [0, 1, stepOf(resumable) - 1, stepOf(resumable), 2 * stepOf(resumable)]) {
        for (const announced of [true, false]) {
          const bytes = pattern(size, size)
          const path = `${size} ${announced}`
          const upload = await begin(resumable, path, bytes, { announced })
          // With a known size, `complete` gets the last part. Otherwise it may get no bytes.
          while (upload.remaining() > stepOf(resumable)) await upload.appendNext()
          if (!announced && upload.remaining() === stepOf(resumable)) await upload.appendNext()
          await upload.complete()
          await has(provider, path, bytes)
        }
      }
    },
  },
  {
    name: 'resumable: appends have any multiple of partMultiple, from partSize',
    needs,
    async run(provider) {
      const resumable = resumableOf(provider)
      const size = stepOf(resumable) + multipleOf(resumable)
      const bytes = pattern(2 * size + 1000)
      for (const announced of [true, false]) {
        const upload = await begin(resumable, 'file', bytes, { announced, size })
        await upload.appendNext()
        await upload.appendNext()
        await upload.complete(true)
        await has(provider, 'file', bytes)
      }
    },
  },
  {
    name: 'resumable: complete without bytes ends an upload of unknown size',
    needs,
    async run(provider) {
      const resumable = resumableOf(provider)
      const bytes = pattern(stepOf(resumable))
      let state = await resumable.begin(at('file'), call())
      const whole = { ...call(), offset: 0, size: bytes.length }
      state = checked(await resumable.append(state, bodyOf(bytes), whole))
      const end = { ...call(), offset: bytes.length, size: 0 }
      await resumable.complete(state, bodyOf(''), { ...end, overwrite: false })
      await has(provider, 'file', bytes)
    },
  },
  {
    name: 'resumable: each call can be repeated after a lost response',
    needs,
    async run(provider) {
      const resumable = resumableOf(provider)
      const bytes = pattern(2 * stepOf(resumable) + 1000)
      const upload = await begin(resumable, 'file', bytes)
      for (let part = 0; part < 2; part += 1) {
        await upload.sendNext()
        await upload.appendNext()
      }
      await upload.complete()
      await has(provider, 'file', bytes)
      await upload.complete().catch(error => {
        assert.ok(['NOT_FOUND', 'ALREADY_EXISTS'].includes(error.code), `complete, repeated: ${error}`)
      })
      await has(provider, 'file', bytes)
    },
  },
  {
    name: 'resumable: append and complete can be repeated after the body broke off',
    needs,
    async run(provider) {
      const resumable = resumableOf(provider)
      const bytes = pattern(2 * stepOf(resumable) + 1000)
      const upload = await begin(resumable, 'file', bytes)
      const breakOff = async (size: number, send: (body: Readable, signal: AbortSignal) => Promise<unknown>) => {
        const half = bytes.subarray(upload.offset(), upload.offset() + size / 2)
        const dropped = new Error('read ECONNRESET')
        function* broken() {
          yield half
          throw dropped
        }
        await assert.rejects(send(Readable.from(broken()), call().signal), error => error === dropped)
        const controller = new AbortController()
        const body = stalledBody(half)
        const aborted = send(body, controller.signal)
        setTimeout(() => controller.abort(dropped), 60)
        await assert.rejects(aborted, error => error === dropped)
        assert.ok(body.destroyed, 'the body was not destroyed')
      }
      const size = stepOf(resumable)
      for (const offset of [0, size]) {
        await breakOff(size, (body, signal) => resumable.append(upload.state(), body, { signal, offset, size }))
        await upload.appendNext()
      }
      const end = { offset: 2 * size, size: 1000, overwrite: false }
      await breakOff(1000, (body, signal) => resumable.complete(upload.state(), body, { signal, ...end }))
      await isMissing(provider, 'file')
      await upload.complete()
      await has(provider, 'file', bytes)
    },
  },
  {
    name: 'resumable: a call with an aborted signal rejects with its reason and changes nothing',
    needs,
    async run(provider) {
      const resumable = resumableOf(provider)
      const bytes = pattern(2 * stepOf(resumable) + 1)
      const upload = await begin(resumable, 'file', bytes)
      await upload.appendNext()
      const reason = new Error('the client went away')
      const aborted = { signal: AbortSignal.abort(reason) }
      const bodies = [stalledBody(Buffer.from('n')), stalledBody(Buffer.from('n'))] as const
      // End the body, so that a call that waits for the rest of it can end.
      const giveUp = setTimeout(() => {
        for (const body of bodies) body.destroy(new Error('it waits for the body'))
      }, 2000)
      const [offset, size] = [upload.offset(), stepOf(resumable)]
      const calls = [
        resumable.append(upload.state(), bodies[0], { ...aborted, offset, size }),
        resumable.complete(upload.state(), bodies[1], { ...aborted, offset, size: 2, overwrite: true }),
        resumable.abort(upload.state(), aborted),
      ]
      for (const result of await Promise.allSettled<unknown>(calls)) {
        assert.ok(result.status === 'rejected' && result.reason === reason, 'it did not reject with the reason')
      }
      clearTimeout(giveUp)
      for (const body of bodies) assert.ok(body.destroyed, 'the body was not destroyed')
      await upload.appendNext()
      await upload.complete()
      await has(provider, 'file', bytes)
    },
  },
  {
    name: 'resumable: another replica continues with nothing but the state',
    needs: (provider, harness) => needs(provider, harness) ?? (harness.reopen ? undefined : 'reopen in the harness'),
    async run(provider, harness) {
      const bytes = pattern(2 * stepOf(resumableOf(provider)) + 1000)
      const first = await begin(resumableOf(provider), 'file', bytes)
      const other = await harness.reopen?.(provider)
      assert.ok(other)
      try {
        const upload = continueUpload(resumableOf(other), bytes, structuredClone(first.state()), first.offset())
        await upload.appendNext()
        // The first replica continues with the state of the other one.
        const again = continueUpload(resumableOf(provider), bytes, upload.state(), upload.offset())
        await again.appendNext()
        await continueUpload(resumableOf(other), bytes, again.state(), again.offset()).complete()
        await has(provider, 'file', bytes)
        await has(other, 'file', bytes)
      } finally {
        await other.close?.()
      }
    },
  },
  {
    name: 'resumable: abort leaves nothing, and changes nothing when repeated or called after complete',
    needs,
    async run(provider) {
      const resumable = resumableOf(provider)
      const bytes = pattern(stepOf(resumable) + 1)
      await put(provider, 'kept', 'kept')
      for (const path of ['new', 'made/up/new', 'kept']) {
        const upload = await begin(resumable, path, bytes)
        const states = [upload.state()]
        await upload.appendNext()
        states.push(upload.state())
        await resumable.abort(upload.state(), call())
        for (const state of states) await resumable.abort(state, call())
      }
      assert.deepEqual(await namesIn(provider, ''), ['kept'])
      await has(provider, 'kept', 'kept')
      const upload = await begin(resumable, 'whole', bytes)
      await upload.appendNext()
      await upload.complete()
      await resumable.abort(upload.state(), call())
      await has(provider, 'whole', bytes)
    },
  },
  {
    name: 'resumable: complete keeps or replaces an existing file, as overwrite says',
    needs,
    async run(provider) {
      const resumable = resumableOf(provider)
      await put(provider, 'file', 'old')
      const refused = await begin(resumable, 'file', pattern(1000))
      await rejectsWith('ALREADY_EXISTS', refused.complete())
      await has(provider, 'file', 'old')
      await resumable.abort(refused.state(), call())
      const bytes = pattern(stepOf(resumable) + 2000)
      const replacing = await begin(resumable, 'file', bytes)
      await replacing.appendNext()
      await has(provider, 'file', 'old')
      await replacing.complete(true)
      await has(provider, 'file', bytes)
      assert.deepEqual(await namesIn(provider, ''), ['file'])
    },
  },
  {
    name: 'resumable: two uploads to one path are independent, and one of them succeeds',
    needs,
    async run(provider, { hasCreateRaces }) {
      const resumable = resumableOf(provider)
      const contents = [pattern(stepOf(resumable) + 1), pattern(stepOf(resumable) + 1, 99)]
      const uploads = await Promise.all(contents.map(bytes => begin(resumable, 'file', bytes)))
      await Promise.all(uploads.map(upload => upload.appendNext()))
      const results = await Promise.allSettled(uploads.map(upload => upload.complete()))
      const winners = results.flatMap((result, i) => (result.status === 'fulfilled' ? [i] : []))
      assert.ok(winners.length > 0, 'no call succeeded')
      if (!hasCreateRaces) assert.equal(winners.length, 1, 'both calls succeeded')
      for (const result of results)
        if (result.status === 'rejected') assert.equal(result.reason.code, 'ALREADY_EXISTS', String(result.reason))
      const won = await Promise.allSettled(winners.map(i => has(provider, 'file', contents[i] ?? '')))
      assert.ok(
        won.some(({ status }) => status === 'fulfilled'),
        'the file has the content of no upload that succeeded',
      )
    },
  },
]

function resumableOf({ resumable }: StorageProvider): ResumableWrites {
  assert.ok(resumable)
  assert.ok(Number.isSafeInteger(resumable.partSize) && resumable.partSize > 0, `a part size of ${resumable.partSize}`)
  const multiple = multipleOf(resumable)
  assert.ok(Number.isSafeInteger(multiple) && resumable.partSize % multiple === 0, `a partMultiple of ${multiple}`)
  return resumable
}

function multipleOf({ partSize, partMultiple = partSize }: ResumableWrites): number {
  return partMultiple
}

/** Returns the bytes of an append: several parts where parts are tiny, so that an append takes some time. */
function stepOf({ partSize }: ResumableWrites): number {
  return partSize * Math.ceil((64 * 1024) / partSize)
}

interface UploadInProgress {
  state(): string
  offset(): number
  /** The number of bytes that are not sent yet. */
  remaining(): number
  /** Sends the next part and discards the returned state, as if the response were lost. */
  sendNext(): Promise<string>
  appendNext(): Promise<void>
  /** Completes the upload with all remaining bytes. */
  complete(overwrite?: boolean): Promise<Entry>
}

async function begin(
  resumable: ResumableWrites,
  path: string,
  bytes: Buffer,
  { announced = true, size = stepOf(resumable) } = {},
): Promise<UploadInProgress> {
  const known = announced ? { size: bytes.length } : {}
  return continueUpload(resumable, bytes, checked(await resumable.begin(at(path), { ...call(), ...known })), 0, size)
}

/** @param size the bytes of an append */
function continueUpload(
  resumable: ResumableWrites,
  bytes: Buffer,
  start: string,
  from: number,
  size = stepOf(resumable),
): UploadInProgress {
  let [state, offset] = [start, from]
  const sendNext = () => {
    const part = bytes.subarray(offset, offset + size)
    assert.equal(part.length, size)
    return resumable.append(state, bodyOf(part), { ...call(), offset, size })
  }
  return {
    state: () => state,
    offset: () => offset,
    remaining: () => bytes.length - offset,
    sendNext,
    async appendNext() {
      state = checked(await sendNext())
      offset += size
    },
    complete(overwrite = false) {
      const rest = bytes.subarray(offset)
      return resumable.complete(state, bodyOf(rest), { ...call(), offset, size: rest.length, overwrite })
    },
  }
}

function checked(state: string): string {
  assert.equal(typeof state, 'string', 'the state is not a string')
  const length = Buffer.byteLength(state)
  assert.ok(length <= maxStateBytes, `the state has ${length} bytes; the host stores at most ${maxStateBytes}`)
  return state
}
