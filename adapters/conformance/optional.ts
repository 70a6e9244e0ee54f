import assert from 'node:assert/strict'
import { at, type Case, call, has, isMissing, namesIn, pattern, put, rejectsWith } from './kit.ts'

type Method = 'copy' | 'move' | 'deleteTree' | 'openFile' | 'quota'

const needs =
  (method: Method): NonNullable<Case['needs']> =>
  provider =>
    provider[method] ? undefined : `the method ${method}`

const keep = { ...call(), overwrite: false }
const replace = { ...call(), overwrite: true }

export const optionalCases: Case[] = [
  {
    name: 'copy: a file with missing parents, kept or replaced as asked',
    needs: needs('copy'),
    async run(provider) {
      const bytes = pattern(2_500_000)
      await put(provider, 'file', bytes)
      const entry = await provider.copy?.(at('file'), at('a/b/copied'), keep)
      assert.deepEqual(entry, await provider.stat(at('a/b/copied'), call()))
      await has(provider, 'a/b/copied', bytes)
      await has(provider, 'file', bytes)
      await put(provider, 'other', 'other')
      await rejectsWith('ALREADY_EXISTS', Promise.resolve(provider.copy?.(at('file'), at('other'), keep)))
      await has(provider, 'other', 'other')
      await provider.copy?.(at('file'), at('other'), replace)
      await has(provider, 'other', bytes)
    },
  },
  {
    name: 'copy: missing files, folders, and targets that are folders',
    needs: needs('copy'),
    async run(provider) {
      await put(provider, 'folder/file', 'kept')
      await put(provider, 'file', 'content')
      await rejectsWith('NOT_FOUND', Promise.resolve(provider.copy?.(at('missing'), at('a/b'), keep)))
      await rejectsWith('NOT_A_FILE', Promise.resolve(provider.copy?.(at('folder'), at('a/b'), keep)))
      await rejectsWith('NOT_A_FILE', Promise.resolve(provider.copy?.(at('file'), at('folder'), replace)))
      assert.deepEqual(await namesIn(provider, ''), ['file', 'folder'])
      await has(provider, 'folder/file', 'kept')
    },
  },
  {
    name: 'move: a file with missing parents, kept or replaced as asked',
    needs: needs('move'),
    async run(provider) {
      await put(provider, 'file', 'content')
      const entry = await provider.move?.(at('file'), at('a/b/moved'), keep)
      assert.deepEqual(entry, await provider.stat(at('a/b/moved'), call()))
      await isMissing(provider, 'file')
      await put(provider, 'other', 'other')
      await rejectsWith('ALREADY_EXISTS', Promise.resolve(provider.move?.(at('a/b/moved'), at('other'), keep)))
      await has(provider, 'other', 'other')
      await has(provider, 'a/b/moved', 'content')
      await provider.move?.(at('a/b/moved'), at('other'), replace)
      await has(provider, 'other', 'content')
      await isMissing(provider, 'a/b/moved')
    },
  },
  {
    name: 'move: a directory with all beneath it, and never over one that is not empty',
    needs: needs('move'),
    async run(provider) {
      await put(provider, 'from/deep/file', 'content')
      await put(provider, 'full/file', 'kept')
      for (const options of [keep, replace]) {
        const code = options.overwrite ? 'NOT_EMPTY' : 'ALREADY_EXISTS'
        await rejectsWith(code, Promise.resolve(provider.move?.(at('from'), at('full'), options)))
      }
      await has(provider, 'full/file', 'kept')
      await provider.move?.(at('from'), at('new/place'), keep)
      await has(provider, 'new/place/deep/file', 'content')
      await isMissing(provider, 'from')
    },
  },
  {
    name: 'move: never one kind over the other, never what is not there',
    needs: needs('move'),
    async run(provider) {
      await put(provider, 'file', 'content')
      await put(provider, 'folder/file', 'kept')
      await rejectsWith('NOT_A_FILE', Promise.resolve(provider.move?.(at('file'), at('folder'), replace)))
      await rejectsWith('NOT_A_DIRECTORY', Promise.resolve(provider.move?.(at('folder'), at('file'), replace)))
      for (const options of [keep, replace]) {
        await rejectsWith('NOT_FOUND', Promise.resolve(provider.move?.(at('missing'), at('a/b'), options)))
      }
      assert.deepEqual(await namesIn(provider, ''), ['file', 'folder'])
      await has(provider, 'file', 'content')
      await has(provider, 'folder/file', 'kept')
    },
  },
  {
    name: 'move: of 10 racing moves of one file, exactly one succeeds, and the file is in one place',
    needs: needs('move'),
    async run(provider) {
      await put(provider, 'file', 'content')
      const moves = Array.from({ length: 10 }, (_, i) => provider.move?.(at('file'), at(`to ${i}`), keep))
      const results = await Promise.allSettled(moves)
      assert.equal(results.filter(result => result.status === 'fulfilled').length, 1)
      assert.equal((await namesIn(provider, '')).length, 1)
    },
  },
  {
    name: 'deleteTree: a directory with all beneath it, a file, and what is not there',
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
    name: 'openFile: a handle on the bytes that its entry describes',
    needs: needs('openFile'),
    async run(provider) {
      const bytes = pattern(100_000)
      const written = await put(provider, 'folder/file', bytes)
      const opened = await provider.openFile?.(at('folder/file'), { ...call(), ifMatch: written.etag ?? '' })
      assert.ok(opened)
      try {
        assert.deepEqual(opened.entry, written)
        // What replaces or deletes the file must not change what its reader gets.
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
    name: 'quota: bytes, or null',
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
