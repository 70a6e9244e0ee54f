import assert from 'node:assert/strict'
import { type Entry, StorageError, type StorageErrorCode, type StorageProvider } from '../contract.ts'
import {
  assertSameBytes,
  at,
  type Case,
  call,
  get,
  has,
  isMissing,
  Lacking,
  listAll,
  namesIn,
  pattern,
  put,
  rejectsWith,
} from './kit.ts'

type Method = 'copy' | 'copySmall' | 'move' | 'deleteTree' | 'setModifiedAt' | 'openFile' | 'readSmall' | 'quota'

/** Milliseconds in which an adapter starts what a fast read needs. */
const startTime = 10_000
/** Milliseconds to wait for copies that are made together, which an adapter need not make. */
const copyTime = 1000

const needs =
  (method: Method): NonNullable<Case['needs']> =>
  provider =>
    provider[method] ? undefined : `the method ${method}`

/** Returns the result, or null for NOT_IN_ONE_STEP. */
export async function inOneStep<T>(step: Promise<T> | undefined): Promise<T | null | undefined> {
  try {
    return await step
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'NOT_IN_ONE_STEP') return null
    throw error
  }
}

/** Checks that a step rejects with `code` or with NOT_IN_ONE_STEP. */
async function refuses(code: StorageErrorCode, step: Promise<unknown> | undefined): Promise<void> {
  await rejectsWith(
    code,
    Promise.resolve(inOneStep(step)).then(result => {
      if (result === null) throw new StorageError(code, 'Not in one step.')
    }),
  )
}

/** Checks that NOT_IN_ONE_STEP changed nothing. @throws Lacking always, to skip the rest of the case */
async function isUnchanged(provider: StorageProvider, names: string[]): Promise<never> {
  assert.deepEqual(await namesIn(provider, ''), names, 'a call that rejected with NOT_IN_ONE_STEP changed something')
  throw new Lacking('this operation in one step (NOT_IN_ONE_STEP)')
}

const keep = { ...call(), overwrite: false }
const replace = { ...call(), overwrite: true }

/** The cases that copies and moves share. */
const eitherCases = (['copy', 'move'] as const).flatMap((method): Case[] => {
  const isSourceRight = (provider: StorageProvider, bytes: Buffer | string) =>
    method === 'copy' ? has(provider, 'file', bytes) : isMissing(provider, 'file')
  return [
    {
      name: `${method}: stores the file and makes missing parents`,
      needs: needs(method),
      async run(provider) {
        const bytes = pattern(2_500_000)
        await put(provider, 'file', bytes)
        const entry = await inOneStep(provider[method]?.(at('file'), at('a/b/target'), keep))
        if (entry === null) await isUnchanged(provider, ['file'])
        assert.deepEqual(entry, await provider.stat(at('a/b/target'), call()))
        await has(provider, 'a/b/target', bytes)
        await isSourceRight(provider, bytes)
      },
    },
    {
      name: `${method}: keeps or replaces an existing file, as overwrite says`,
      needs: needs(method),
      async run(provider) {
        await put(provider, 'file', 'content')
        await put(provider, 'other', 'other')
        await refuses('ALREADY_EXISTS', provider[method]?.(at('file'), at('other'), keep))
        await has(provider, 'other', 'other')
        await has(provider, 'file', 'content')
        const entry = await inOneStep(provider[method]?.(at('file'), at('other'), replace))
        if (entry === null) {
          await has(provider, 'other', 'other')
          await has(provider, 'file', 'content')
          await isUnchanged(provider, ['file', 'other'])
        }
        await has(provider, 'other', 'content')
        await isSourceRight(provider, 'content')
      },
    },
  ]
})

export const optionalCases: Case[] = [
  ...eitherCases,
  {
    name: 'copy: refuses missing files, folders, and destinations that are folders',
    needs: needs('copy'),
    async run(provider) {
      await put(provider, 'folder/file', 'kept')
      await put(provider, 'file', 'content')
      await refuses('NOT_FOUND', provider.copy?.(at('missing'), at('a/b'), keep))
      await refuses('NOT_A_FILE', provider.copy?.(at('folder'), at('a/b'), keep))
      await refuses('NOT_A_FILE', provider.copy?.(at('file'), at('folder'), replace))
      assert.deepEqual(await namesIn(provider, ''), ['file', 'folder'])
      await has(provider, 'folder/file', 'kept')
    },
  },
  {
    name: 'copy: copies the current version, whatever entry of the source it is given',
    needs: needs('copy'),
    async run(provider) {
      await put(provider, 'folder/file', 'content')
      const [listed] = await listAll(provider, 'folder')
      const seen = await provider.stat(at('folder/file'), call())
      assert.ok(listed)
      for (const [name, entry] of Object.entries({ listed, seen })) {
        const copied = await inOneStep(provider.copy?.(at('folder/file'), at(name), { ...keep, entry }))
        if (!copied) return await isUnchanged(provider, ['folder'])
        await has(provider, name, 'content')
        // The copy may lack what the entry of its source lacks.
        const facts = await provider.stat(at(name), call())
        const { mimeType, checksums } = copied
        assert.deepEqual({ ...copied, mimeType: facts.mimeType, checksums }, { ...facts, checksums })
        if (entry.mimeType !== null) assert.equal(mimeType, facts.mimeType, 'the copy has another type')
        if (checksums || entry.checksums) assert.deepEqual(checksums, facts.checksums, 'the copy has other checksums')
        await refuses('ALREADY_EXISTS', provider.copy?.(at('folder/file'), at(name), { ...keep, entry }))
      }
      await put(provider, 'folder/file', 'changed since', true)
      for (const [name, entry] of Object.entries({ listed, seen })) {
        await inOneStep(provider.copy?.(at('folder/file'), at(`${name} again`), { ...keep, entry }))
        await has(provider, `${name} again`, 'changed since')
      }
      await provider.delete(at('folder/file'), call())
      await refuses('NOT_FOUND', provider.copy?.(at('folder/file'), at('new'), { ...keep, entry: listed }))
      await isMissing(provider, 'new')
    },
  },
  {
    name: 'move: moves a directory with its content, but never over one that is not empty',
    needs: needs('move'),
    async run(provider) {
      await put(provider, 'from/deep/file', 'content')
      await put(provider, 'full/file', 'kept')
      for (const options of [keep, replace]) {
        const code = options.overwrite ? 'NOT_EMPTY' : 'ALREADY_EXISTS'
        await refuses(code, provider.move?.(at('from'), at('full'), options))
      }
      await has(provider, 'full/file', 'kept')
      const entry = await inOneStep(provider.move?.(at('from'), at('new/place'), keep))
      if (entry === null) await isUnchanged(provider, ['from', 'full'])
      await has(provider, 'new/place/deep/file', 'content')
      await isMissing(provider, 'from')
    },
  },
  {
    name: 'move: refuses a file over a directory, a directory over a file, and a missing source',
    needs: needs('move'),
    async run(provider) {
      await put(provider, 'file', 'content')
      await put(provider, 'folder/file', 'kept')
      await refuses('NOT_A_FILE', provider.move?.(at('file'), at('folder'), replace))
      await refuses('NOT_A_DIRECTORY', provider.move?.(at('folder'), at('file'), replace))
      for (const options of [keep, replace]) {
        await refuses('NOT_FOUND', provider.move?.(at('missing'), at('a/b'), options))
      }
      assert.deepEqual(await namesIn(provider, ''), ['file', 'folder'])
      await has(provider, 'file', 'content')
      await has(provider, 'folder/file', 'kept')
    },
  },
  {
    name: 'move: exactly one of 10 concurrent moves of one file succeeds, and the file has one path',
    needs: needs('move'),
    async run(provider) {
      await put(provider, 'file', 'content')
      const moves = Array.from({ length: 10 }, (_, i) => provider.move?.(at('file'), at(`to ${i}`), keep))
      const results = await Promise.allSettled(moves)
      if (results.every(result => result.status === 'rejected' && result.reason.code === 'NOT_IN_ONE_STEP'))
        await isUnchanged(provider, ['file'])
      assert.equal(results.filter(result => result.status === 'fulfilled').length, 1)
      assert.equal((await namesIn(provider, '')).length, 1)
    },
  },
  {
    name: 'setModifiedAt: sets the time of a file and of a directory, and keeps their content',
    needs: needs('setModifiedAt'),
    async run(provider) {
      await put(provider, 'folder/file', 'content')
      const time = new Date('2001-02-03T04:05:06Z')
      for (const path of ['folder/file', 'folder']) {
        await provider.setModifiedAt?.(at(path), time, call())
        assert.equal((await provider.stat(at(path), call())).modifiedAt?.getTime(), time.getTime())
      }
      assertSameBytes(await get(provider, 'folder/file'), Buffer.from('content'), 'folder/file')
      await rejectsWith('NOT_FOUND', Promise.resolve(provider.setModifiedAt?.(at('missing'), time, call())))
    },
  },
  {
    name: 'deleteTree: deletes a directory with its content, or a file, and accepts a missing path',
    needs: needs('deleteTree'),
    async run(provider) {
      await Promise.all([1, 2, 3].map(i => put(provider, `tree/${i}/deep/file`, '')))
      await put(provider, 'tree/file', '')
      await put(provider, 'beside', 'kept')
      await provider.deleteTree?.(at('tree'), call())
      await isMissing(provider, 'tree')
      await provider.deleteTree?.(at('tree'), call())
      await provider.deleteTree?.(at('beside/below'), call())
      assert.deepEqual(await namesIn(provider, ''), ['beside'])
      await provider.deleteTree?.(at('beside'), call())
      assert.deepEqual(await namesIn(provider, ''), [])
    },
  },
  {
    name: 'openFile: returns a handle on the bytes that its entry describes',
    needs: needs('openFile'),
    async run(provider) {
      const bytes = pattern(100_000)
      const written = await put(provider, 'folder/file', bytes)
      const opened = await provider.openFile?.(at('folder/file'), { ...call(), ifMatch: written.etag ?? '' })
      assert.ok(opened)
      try {
        assert.deepEqual(opened.entry, written)
        const { mtimeMs } = await opened.handle.stat({ bigint: true })
        assert.equal(opened.entry.modifiedAt?.getTime(), Number(mtimeMs), 'the entry has another time than the handle')
        // Replacing or deleting the file must not change what its reader gets.
        await put(provider, 'folder/file', 'other', true)
        await provider.delete(at('folder/file'), call())
        const { buffer } = await opened.handle.read(Buffer.alloc(10), 0, 10, 50_000)
        assert.deepEqual(buffer, bytes.subarray(50_000, 50_010))
      } finally {
        await opened.handle.close()
      }
      await put(provider, 'folder/file', 'again')
      const open = (path: string) =>
        Promise.resolve(provider.openFile?.(at(path), { ...call(), ifMatch: 'no-such-etag' }))
      await rejectsWith('PRECONDITION_FAILED', open('folder/file'))
      await rejectsWith('NOT_A_FILE', open('folder'))
      await rejectsWith('NOT_FOUND', open('missing'))
    },
  },
  {
    name: 'readSmall: returns the bytes that its entry describes, and null for a larger file',
    needs: needs('readSmall'),
    async run(provider) {
      const small = (path: string, maxBytes: number) => provider.readSmall?.(at(path), { ...call(), maxBytes })
      for (const size of [10_000, 0]) {
        const bytes = pattern(size)
        await put(provider, 'folder/file', bytes, true)
        // The adapter may still be starting the thread or the connection that it reads with.
        const until = performance.now() + startTime
        let found = await small('folder/file', size)
        while (!found && performance.now() < until) {
          await new Promise(resolve => setTimeout(resolve, 10))
          found = await small('folder/file', size)
        }
        assert.ok(found, `the result is null for ${startTime} ms: leave the method out`)
        assert.deepEqual(found.entry, await provider.stat(at('folder/file'), call()))
        assertSameBytes(Buffer.from(found.bytes), bytes, 'folder/file')
      }
      await put(provider, 'folder/file', pattern(10_000), true)
      assert.equal(await small('folder/file', 9_999), null)
      // `openFile` or `read` reports these.
      for (const path of ['missing', 'folder', 'folder/file/below', '']) {
        const found = await inOneStep(small(path, 10_000)).catch(error => {
          assert.equal(error.name, 'StorageError', `an error is a ${error.name}, not a StorageError`)
          return null
        })
        assert.equal(found, null, `${path} is not a file`)
      }
    },
  },
  {
    name: 'copySmall: copies files under their names, and never replaces one',
    needs: needs('copySmall'),
    async run(provider) {
      const files = { large: pattern(10_000), small: 'content', empty: '' }
      for (const [name, content] of Object.entries(files)) await put(provider, `from/${name}`, content)
      await put(provider, 'from/taken', 'new')
      await put(provider, 'to/taken', 'old')
      await put(provider, 'from/folder/file', 'inner')
      const others = ['taken', 'folder', 'missing']
      const names = [...Object.keys(files), ...others]
      const until = performance.now() + copyTime
      let copies = await provider.copySmall?.(at('from'), at('to'), names, call())
      while (copies?.every(copy => copy === null) && performance.now() < until) {
        await new Promise(resolve => setTimeout(resolve, 10))
        copies = await provider.copySmall?.(at('from'), at('to'), names, call())
      }
      assert.equal(copies?.length, names.length, 'there is not one result for each name')
      for (const [index, name] of names.entries()) {
        const copy: Entry | null | undefined = copies[index]
        if (others.includes(name)) assert.equal(copy, null, `${name} has a copy`)
        else if (!copy) await isMissing(provider, `to/${name}`)
        else {
          assert.deepEqual(copy, await provider.stat(at(`to/${name}`), call()))
          await has(provider, `to/${name}`, files[name as keyof typeof files])
        }
      }
      await has(provider, 'to/taken', 'old')
      const copied = Object.keys(files).filter((_, index) => copies[index])
      assert.deepEqual(await namesIn(provider, 'to'), [...copied, 'taken'].sort())
      assert.deepEqual(await namesIn(provider, 'from'), names.slice(0, 5).sort())
    },
  },
  {
    name: 'quota: returns bytes or null',
    needs: needs('quota'),
    async run(provider) {
      await put(provider, 'file', pattern(100_000))
      const quota = await provider.quota?.(call())
      for (const value of [quota?.used, quota?.total])
        assert.ok(value === null || (Number.isSafeInteger(value) && Number(value) >= 0))
      if (quota?.used != null && quota.total !== null) assert.ok(quota.used <= quota.total)
    },
  },
]
