import assert from 'node:assert/strict'
import { buffer } from 'node:stream/consumers'
import { assertSameBytes, at, type Case, call, etagOf, get, pattern, put, rejectsWith } from './kit.ts'

const size = 200_000
const offsets = [0, 1, 65_535, 65_536, 65_537, size - 2, size - 1]
const lengths = [undefined, 1, 2, 65_536, size, size + 10, Number.MAX_SAFE_INTEGER]

export const rangeCases: Case[] = [
  {
    name: 'ranges around every edge return exactly their bytes',
    async run(provider) {
      const bytes = pattern(size)
      await put(provider, 'file', bytes)
      const whole = await provider.stat(at('file'), call())
      for (const offset of offsets) {
        for (const length of lengths) {
          const range = length === undefined ? { offset } : { offset, length }
          const { body, entry } = await provider.read(at('file'), { ...call(), range })
          const expected = bytes.subarray(offset, length === undefined ? size : offset + length)
          assertSameBytes(await buffer(body), expected, `offset ${offset}, length ${length}`)
          assert.deepEqual(entry, whole, 'the entry must describe the whole file')
        }
      }
    },
  },
  {
    name: 'a range that begins at or past the end is RANGE_NOT_SATISFIABLE',
    async run(provider) {
      await put(provider, 'file', pattern(10))
      await put(provider, 'empty', '')
      await rejectsWith('RANGE_NOT_SATISFIABLE', get(provider, 'file', { offset: 10 }))
      await rejectsWith('RANGE_NOT_SATISFIABLE', get(provider, 'file', { offset: 11, length: 1 }))
      await rejectsWith('RANGE_NOT_SATISFIABLE', get(provider, 'empty', { offset: 0 }))
    },
  },
  {
    name: 'a read that is given the entry of the file returns the same as without it',
    async run(provider) {
      const bytes = pattern(70_000)
      await put(provider, 'file', bytes)
      const entry = await provider.stat(at('file'), call())
      for (const range of [undefined, { offset: 65_000, length: 1_000 }]) {
        const read = await provider.read(at('file'), { ...call(), entry, ...(range && { range }) })
        assertSameBytes(await buffer(read.body), range ? bytes.subarray(65_000, 66_000) : bytes, 'file')
        assert.deepEqual(read.entry, entry)
      }
      await rejectsWith(
        'RANGE_NOT_SATISFIABLE',
        provider.read(at('file'), { ...call(), entry, range: { offset: 70_000 } }),
      )
    },
  },
  {
    name: 'ifMatch reads only the version that it names',
    async run(provider, harness) {
      await put(provider, 'file', 'first')
      const etag = await etagOf(provider, 'file', harness)
      if (etag === null) return
      const { body } = await provider.read(at('file'), { ...call(), ifMatch: etag })
      assert.equal((await buffer(body)).toString(), 'first')
      await put(provider, 'file', 'other', true)
      await rejectsWith('PRECONDITION_FAILED', provider.read(at('file'), { ...call(), ifMatch: etag }))
    },
  },
]
