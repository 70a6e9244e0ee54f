import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import type { Entry, PartWrites, ResumableWrites, StorageProvider } from '../contract.ts'
import { at, bodyOf, type Case, call, has, isMissing, namesIn, pattern, put, rejectsWith, stalledBody } from './kit.ts'

const needs: NonNullable<Case['needs']> = ({ resumable }) => {
  if (!resumable) return 'resumable writes'
  return resumable.parts ? undefined : 'parts of resumable writes'
}

export const partCases: Case[] = [
  {
    name: 'parts: parts in any order and at once make one file in the order of their numbers',
    needs,
    async run(provider) {
      const upload = await begin(provider, 'made/up/file')
      const [first, second] = [pattern(upload.minSize), pattern(upload.minSize + 1, 7)]
      const last = Buffer.from('the end')
      // Numbers can have gaps, and 10,000 is the highest.
      const parts = await Promise.all([upload.put(10_000, last), upload.put(3, second), upload.put(1, first)])
      assert.deepEqual(await namesIn(provider, ''), [], 'an unfinished upload is visible')
      const content = Buffer.concat([first, second, last])
      const entry = await upload.complete(parts.toReversed(), content.length)
      assert.equal(entry.size, content.length)
      assert.deepEqual(entry, await provider.stat(at('made/up/file'), call()))
      await has(provider, 'made/up/file', content)
    },
  },
  {
    name: 'parts: a repeated part replaces the earlier one, and parts that are not listed are never part of the file',
    needs,
    async run(provider) {
      const upload = await begin(provider, 'file')
      const bytes = pattern(upload.minSize, 3)
      const before = await upload.put(1, pattern(upload.minSize))
      const dropped = new Error('read ECONNRESET')
      await assert.rejects(
        upload.send(2, Readable.from(breakingOff(bytes, dropped)), bytes.length),
        error => error === dropped,
      )
      const controller = new AbortController()
      const stalled = stalledBody(bytes.subarray(0, 1000))
      const aborted = upload.send(2, stalled, bytes.length, controller.signal)
      setTimeout(() => controller.abort(dropped), 60)
      await assert.rejects(aborted, error => error === dropped)
      assert.ok(stalled.destroyed, 'the body was not destroyed')
      const after = await upload.put(1, bytes)
      const second = await upload.put(2, bytes)
      const again = await upload.put(1, bytes)
      assert.notEqual(before.tag, after.tag, 'different bytes have one tag')
      const end = await upload.put(4, Buffer.alloc(0))
      const isLeftOut = await upload.complete([again, end], bytes.length).then(
        () => true,
        error => {
          assert.equal(error.code, 'PRECONDITION_FAILED', `a part that is not listed: ${error}`)
          return false
        },
      )
      if (!isLeftOut) await upload.complete([again, second, end], 2 * bytes.length)
      await has(provider, 'file', isLeftOut ? bytes : Buffer.concat([bytes, bytes]))
    },
  },
  {
    name: 'parts: complete refuses a missing part and one with another tag, and can be repeated',
    needs,
    async run(provider) {
      const upload = await begin(provider, 'file')
      const [first, bytes] = [pattern(upload.minSize), Buffer.from('second')]
      const other = await begin(provider, 'other')
      const wrongTag = await other.put(2, Buffer.from('others'))
      await other.abort()
      const parts = [await upload.put(1, first), await upload.put(2, bytes)]
      const size = first.length + bytes.length
      const missing = { number: 3, tag: wrongTag.tag }
      for (const wrong of [
        [...parts, missing],
        [parts[0] ?? missing, wrongTag],
      ]) {
        await rejectsWith('PRECONDITION_FAILED', upload.complete(wrong, size))
        await isMissing(provider, 'file')
      }
      await upload.complete(parts, size)
      await upload.complete(parts, size).catch(error => {
        assert.ok(['NOT_FOUND', 'ALREADY_EXISTS'].includes(error.code), `complete, repeated: ${error}`)
      })
      await has(provider, 'file', Buffer.concat([first, bytes]))
      await rejectsWith('NOT_FOUND', upload.put(1, bytes))
    },
  },
  {
    name: 'parts: another replica continues with nothing but the state',
    needs: (provider, harness) => needs(provider, harness) ?? (harness.reopen ? undefined : 'reopen in the harness'),
    async run(provider, harness) {
      const upload = await begin(provider, 'file')
      const other = await harness.reopen?.(provider)
      assert.ok(other)
      try {
        const continued = continueUpload(other, structuredClone(upload.state))
        const bytes = pattern(upload.minSize)
        const parts = await Promise.all([upload.put(1, bytes), continued.put(2, Buffer.from('end'))])
        await continued.complete(parts, bytes.length + 3)
        await has(provider, 'file', Buffer.concat([bytes, Buffer.from('end')]))
      } finally {
        await other.close?.()
      }
    },
  },
  {
    name: 'parts: complete keeps or replaces an existing file, as overwrite says, and abort leaves nothing',
    needs,
    async run(provider) {
      await put(provider, 'file', 'old')
      const upload = await begin(provider, 'file')
      const parts = [await upload.put(1, Buffer.from('new'))]
      await rejectsWith('ALREADY_EXISTS', upload.complete(parts, 3))
      await has(provider, 'file', 'old')
      const aborted = await begin(provider, 'made/up/other')
      await aborted.put(2, Buffer.from('other'))
      for (let time = 0; time < 2; time += 1) await aborted.abort()
      await rejectsWith('NOT_FOUND', aborted.put(1, Buffer.from('late')))
      await upload.complete(parts, 3, true)
      await has(provider, 'file', 'new')
      await upload.abort()
      await has(provider, 'file', 'new')
      assert.deepEqual(await namesIn(provider, ''), ['file'])
    },
  },
]

interface Part {
  number: number
  tag: string
}

interface UploadInParts {
  state: string
  minSize: number
  put(number: number, bytes: Buffer): Promise<Part>
  send(number: number, body: Readable, size: number, signal?: AbortSignal): Promise<string>
  complete(parts: readonly Part[], size: number, overwrite?: boolean): Promise<Entry>
  abort(): Promise<void>
}

async function begin(provider: StorageProvider, path: string): Promise<UploadInParts> {
  return continueUpload(provider, await writesOf(provider).resumable.begin(at(path), call()))
}

function continueUpload(provider: StorageProvider, state: string): UploadInParts {
  const { resumable, parts } = writesOf(provider)
  const { minSize } = parts
  assert.ok(Number.isSafeInteger(minSize) && minSize > 0, `the smallest part has ${minSize} bytes`)
  const send: UploadInParts['send'] = async (number, body, size, signal = call().signal) => {
    const tag = await parts.put(state, body, { signal, number, size })
    assert.ok(typeof tag === 'string' && tag.length >= 1 && tag.length <= 256, `the tag of a part is ${tag}`)
    return tag
  }
  return {
    state,
    minSize,
    send,
    put: async (number, bytes) => ({ number, tag: await send(number, bodyOf(bytes), bytes.length) }),
    complete: (listed, size, overwrite = false) => parts.complete(state, listed, { ...call(), size, overwrite }),
    abort: () => resumable.abort(state, call()),
  }
}

function writesOf({ resumable }: StorageProvider): { resumable: ResumableWrites; parts: PartWrites } {
  assert.ok(resumable?.parts)
  return { resumable, parts: resumable.parts }
}

function* breakingOff(bytes: Buffer, error: Error): Generator<Buffer> {
  yield bytes.subarray(0, bytes.length / 2)
  throw error
}
