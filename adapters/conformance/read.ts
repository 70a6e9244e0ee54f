import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import type { Entry, StorageProvider } from '../contract.ts'
import {
  assertSameBytes,
  assertWritten,
  at,
  bodyOf,
  type Case,
  call,
  etagOf,
  get,
  has,
  pattern,
  put,
  rejectsWith,
} from './kit.ts'

const kib = 1024
const mib = 1024 * kib

const sizes = [0, 1, 64 * kib - 1, 64 * kib, 64 * kib + 1, mib - 1, mib, mib + 1, 3 * mib + 7]

export const roundTripCases: Case[] = [
  ...sizes.map(size => ({
    name: `round trip of ${size} bytes`,
    async run(provider: StorageProvider) {
      const bytes = pattern(size)
      const written = await put(provider, 'file.bin', bytes)
      assertEntry(written, 'file.bin', size)
      await has(provider, 'file.bin', bytes)
      const seen = await provider.stat(at('file.bin'), call())
      assertWritten(written, seen)
      assertChecksums(seen, bytes)
    },
  })),
  {
    name: 'round trip of 20 MB in chunks of odd sizes, without a size hint',
    async run(provider) {
      const piece = pattern(99_991)
      const sent = createHash('sha256')
      function* pieces() {
        for (let i = 0; i < 201; i += 1) {
          const bytes = piece.subarray(i)
          sent.update(bytes)
          yield bytes
        }
      }
      await provider.write(at('big'), Readable.from(pieces()), { ...call(), overwrite: false })
      const received = createHash('sha256')
      const { body } = await provider.read(at('big'), call())
      for await (const bytes of body) received.update(bytes)
      assert.equal(received.digest('hex'), sent.digest('hex'))
    },
  },
  {
    name: 'traits have the right types',
    async run({ traits }) {
      const { emptyDirectories, maxFileSize, keepsModifiedAt = false } = traits
      assert.equal(typeof emptyDirectories, 'boolean', 'traits.emptyDirectories')
      assert.equal(typeof keepsModifiedAt, 'boolean', 'traits.keepsModifiedAt')
      if (maxFileSize !== undefined) assert.ok(Number.isSafeInteger(maxFileSize) && maxFileSize > 0, 'maxFileSize')
    },
  },
  {
    name: 'a media type is stored unchanged or not at all',
    async run(provider) {
      const options = { ...call(), mimeType: 'application/x-of-its-own', overwrite: false }
      await provider.write(at('typed'), bodyOf('content'), options)
      const { mimeType } = await provider.stat(at('typed'), call())
      assert.ok(mimeType === null || mimeType === options.mimeType, `it became ${mimeType}`)
    },
  },
  {
    name: 'a body of 5,000 one-byte chunks is stored whole',
    async run(provider) {
      const bytes = pattern(5000)
      await provider.write(at('drops'), bodyOf(bytes, 1), { ...call(), size: 5000, overwrite: false })
      await has(provider, 'drops', bytes)
    },
  },
  {
    name: 'a shorter file replaces a longer one completely, and the etag changes',
    async run(provider, harness) {
      await put(provider, 'file', pattern(100_000))
      const before = await etagOf(provider, 'file', harness)
      const after = await put(provider, 'file', 'short', true)
      assert.equal((await get(provider, 'file')).toString(), 'short')
      assertEntry(after, 'file', 5)
      if (before !== null) assert.notEqual(await etagOf(provider, 'file', harness), before)
    },
  },
  {
    name: 'no two contents of a path share an etag, even after fast replacements and deletions',
    async run(provider, { settle }) {
      const contents = new Map<string, string>()
      for (let i = 0; i < 60; i += 1) {
        const content = String(i % 10)
        if (i % 20 === 19) await provider.delete(at('file'), call())
        const { etag } = await put(provider, 'file', content, true)
        if (etag === null && !settle) return
        if (etag === null) continue
        assert.equal(contents.get(etag) ?? content, content, 'other bytes have the same etag')
        contents.set(etag, content)
      }
    },
  },
]

function assertEntry(entry: Entry, name: string, size: number): void {
  assert.equal(entry.name, name)
  assert.equal(entry.kind, 'file')
  assert.equal(entry.size, size)
  if (entry.etag !== null)
    assert.match(
      entry.etag,
      /^[\x21\x23-\x7e]{1,256}$/,
      'the etag is not 1 to 256 of printable ASCII without space and "',
    )
  if (entry.modifiedAt) {
    const age = Math.abs(Date.now() - entry.modifiedAt.getTime())
    assert.ok(age < 5 * 60_000, `modifiedAt is ${age} ms from now`)
  }
}

/** Checks the checksums that Node can compute, and the format of all. */
function assertChecksums({ checksums = {} }: Entry, bytes: Buffer): void {
  for (const [algorithm, hex] of Object.entries(checksums)) {
    assert.match(hex, /^[0-9a-f]{8,128}$/, `${algorithm} is not lowercase hex`)
    if (algorithm === 'crc32c') continue
    assert.equal(hex, createHash(algorithm).update(bytes).digest('hex'), `${algorithm} of other bytes`)
  }
}

const size = 200_000
const offsets = [0, 1, 65_535, 65_536, 65_537, size - 2, size - 1]
const lengths = [undefined, 1, 2, 65_536, size, size + 10, Number.MAX_SAFE_INTEGER]

export const rangeCases: Case[] = [
  {
    name: 'ranges around every edge return exactly their bytes',
    async run(provider) {
      const bytes = pattern(size)
      await put(provider, 'file', bytes)
      const stored = await provider.stat(at('file'), call())
      for (const offset of offsets) {
        for (const length of lengths) {
          const range = length === undefined ? { offset } : { offset, length }
          const { body, entry } = await provider.read(at('file'), { ...call(), range })
          const expected = bytes.subarray(offset, length === undefined ? size : offset + length)
          assertSameBytes(await buffer(body), expected, `offset ${offset}, length ${length}`)
          assert.deepEqual(entry, stored, 'the entry must describe the whole file')
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
