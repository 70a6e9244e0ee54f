/** Cases about what a change replaces: files over files, and files beside folders. */
import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import type { StorageProvider } from '../contract.ts'
import { at, bodyOf, type Case, call, get, has, isMissing, makeFolder, namesIn, put, rejectsWith } from './kit.ts'

export const overwriteCases: Case[] = [
  {
    name: 'overwrite: false keeps an existing file, overwrite: true replaces it',
    async run(provider) {
      await put(provider, 'file', 'first')
      await rejectsWith('ALREADY_EXISTS', put(provider, 'file', 'second'))
      await has(provider, 'file', 'first')
      await put(provider, 'file', 'third', true)
      await has(provider, 'file', 'third')
      assert.deepEqual(await namesIn(provider, ''), ['file'])
    },
  },
  {
    name: 'a write never replaces a directory',
    async run(provider) {
      await put(provider, 'folder/file', 'kept')
      await rejectsWith('ALREADY_EXISTS', put(provider, 'folder', 'no'))
      await rejectsWith('NOT_A_FILE', put(provider, 'folder', 'no', true))
      await has(provider, 'folder/file', 'kept')
    },
  },
  {
    name: 'a write makes missing parents, but never below a file',
    async run(provider) {
      await put(provider, 'a/b/c/file', 'deep')
      await has(provider, 'a/b/c/file', 'deep')
      await rejectsWith('NOT_A_DIRECTORY', put(provider, 'a/b/c/file/below', 'no', true))
      await rejectsWith('NOT_A_DIRECTORY', put(provider, 'a/b/c/file/far/below', 'no'))
      await has(provider, 'a/b/c/file', 'deep')
    },
  },
  {
    name: 'exactly one of 40 concurrent writers with overwrite: false succeeds, and its bytes are stored',
    needs: (_provider, { hasCreateRaces }) => (hasCreateRaces ? 'an atomic create' : undefined),
    async run(provider) {
      const winners = await raceToCreate(provider)
      assert.equal(winners.length, 1, `${winners.length} writers won`)
      assert.deepEqual(await namesIn(provider, 'new/folder'), ['file'])
    },
  },
  {
    name: 'without an atomic create, concurrent writers leave the whole file of one that succeeded',
    needs: (_provider, { hasCreateRaces }) => (hasCreateRaces ? undefined : 'hasCreateRaces in the harness'),
    async run(provider) {
      const winners = await raceToCreate(provider)
      assert.ok(winners.length > 0, 'nobody won')
    },
  },
  {
    name: 'all of 20 concurrent writers with overwrite: true succeed, and readers see only whole files',
    async run(provider) {
      await put(provider, 'file', Buffer.alloc(200_000, 255))
      const writes = Array.from({ length: 20 }, (_, i) => put(provider, 'file', Buffer.alloc(200_000, i), true))
      const reads = Array.from({ length: 20 }, () => get(provider, 'file'))
      for (const bytes of await Promise.all(reads)) {
        assert.equal(bytes.length, 200_000)
        assert.ok(
          bytes.every(byte => byte === bytes[0]),
          'a reader got the bytes of two writers',
        )
      }
      await Promise.all(writes)
      assert.deepEqual(await namesIn(provider, ''), ['file'])
    },
  },
  {
    name: 'a refused write destroys its body',
    async run(provider) {
      await put(provider, 'file', 'first')
      const body = bodyOf('second')
      await rejectsWith('ALREADY_EXISTS', provider.write(at('file'), body, { ...call(), overwrite: false }))
      assert.ok(body.destroyed)
      await isMissing(provider, 'second')
    },
  },
]

/** Starts 40 writers with overwrite: false before the first one can end. Returns those that succeeded. */
async function raceToCreate(provider: StorageProvider): Promise<number[]> {
  const { promise: go, resolve: start } = Promise.withResolvers<void>()
  const races = Array.from({ length: 40 }, (_, i) => {
    async function* pieces() {
      yield Buffer.from(`writer ${i} `)
      await go
      yield Buffer.alloc(70_000, i)
    }
    return provider.write(at('new/folder/file'), Readable.from(pieces()), { ...call(), overwrite: false })
  })
  setImmediate(start)
  const results = await Promise.allSettled(races)
  for (const result of results) {
    if (result.status === 'rejected') assert.equal(result.reason.code, 'ALREADY_EXISTS', String(result.reason))
  }
  const winners = results.flatMap((result, i) => (result.status === 'fulfilled' ? [i] : []))
  const bytes = await get(provider, 'new/folder/file')
  const [, writer] = bytes.subarray(0, 20).toString('latin1').split(' ')
  assert.ok(winners.includes(Number(writer)), `the file is that of writer ${writer}, whose call failed`)
  assert.equal(bytes.length, `writer ${writer} `.length + 70_000)
  assert.ok(
    bytes.subarray(-70_000).every(byte => byte === Number(writer)),
    'the bytes of two writers are mixed',
  )
  return winners
}

const emptyDirectories: NonNullable<Case['needs']> = ({ traits }) =>
  traits.emptyDirectories ? undefined : 'traits.emptyDirectories'

export const kindCases: Case[] = [
  {
    name: 'a missing path is NOT_FOUND, even below a file, and deleting it succeeds',
    async run(provider) {
      await put(provider, 'file', 'content')
      for (const path of ['missing', 'missing/below', 'file/below']) {
        await isMissing(provider, path)
        await rejectsWith('NOT_FOUND', get(provider, path))
        await provider.delete(at(path), call())
      }
      await has(provider, 'file', 'content')
    },
  },
  {
    name: 'reading a directory is NOT_A_FILE',
    async run(provider) {
      await put(provider, 'folder/file', '')
      await rejectsWith('NOT_A_FILE', get(provider, 'folder'))
      await rejectsWith('NOT_A_FILE', get(provider, ''))
    },
  },
  {
    name: 'a directory that is not empty is not deleted',
    async run(provider) {
      await put(provider, 'folder/file', 'kept')
      await rejectsWith('NOT_EMPTY', provider.delete(at('folder'), call()))
      await has(provider, 'folder/file', 'kept')
    },
  },
  {
    name: 'mkdir makes missing parents and accepts an existing directory',
    needs: emptyDirectories,
    async run(provider) {
      await makeFolder(provider, 'a/b/c')
      assert.equal((await provider.stat(at('a/b/c'), call())).kind, 'directory')
      assert.deepEqual(await namesIn(provider, 'a/b/c'), [])
      await put(provider, 'a/b/c/file', 'kept')
      await makeFolder(provider, 'a/b/c')
      await makeFolder(provider, 'a')
      await has(provider, 'a/b/c/file', 'kept')
    },
  },
  {
    name: 'mkdir with exclusive: true makes parents and refuses every existing path',
    needs: emptyDirectories,
    async run(provider) {
      await put(provider, 'file', '')
      await rejectsWith('ALREADY_EXISTS', makeFolder(provider, 'file', true))
      await makeFolder(provider, 'a/b', true)
      await rejectsWith('ALREADY_EXISTS', makeFolder(provider, 'a/b', true))
      await rejectsWith('ALREADY_EXISTS', makeFolder(provider, 'a', true))
      assert.deepEqual(await namesIn(provider, 'a'), ['b'])
    },
  },
  {
    name: 'exactly one of 20 concurrent mkdir with exclusive: true succeeds where create is atomic',
    needs: emptyDirectories,
    async run(provider, { hasCreateRaces }) {
      const races = Array.from({ length: 20 }, () => makeFolder(provider, 'new/folder', true))
      const results = await Promise.allSettled(races)
      for (const result of results) {
        if (result.status === 'rejected') assert.equal(result.reason.code, 'ALREADY_EXISTS', String(result.reason))
      }
      const winners = results.filter(result => result.status === 'fulfilled').length
      if (hasCreateRaces !== true) assert.equal(winners, 1, `${winners} calls succeeded`)
      assert.ok(winners > 0, 'no call succeeded')
      assert.equal((await provider.stat(at('new/folder'), call())).kind, 'directory')
    },
  },
  {
    name: 'all of 20 concurrent mkdir without exclusive succeed, as do writes below',
    needs: emptyDirectories,
    async run(provider) {
      await Promise.all(Array.from({ length: 20 }, () => makeFolder(provider, 'new/folder')))
      await Promise.all(Array.from({ length: 20 }, (_, i) => put(provider, `other/folder/${i}`, '')))
      assert.deepEqual(await namesIn(provider, ''), ['new', 'other'])
      assert.deepEqual(await namesIn(provider, 'other'), ['folder'])
      assert.equal((await namesIn(provider, 'other/folder')).length, 20)
    },
  },
  {
    name: 'mkdir over a file is ALREADY_EXISTS, below a file NOT_A_DIRECTORY',
    async run(provider) {
      await put(provider, 'file', 'kept')
      await rejectsWith('ALREADY_EXISTS', makeFolder(provider, 'file'))
      await rejectsWith('NOT_A_DIRECTORY', makeFolder(provider, 'file/below'))
      await rejectsWith('NOT_A_DIRECTORY', makeFolder(provider, 'file/far/below'))
      await has(provider, 'file', 'kept')
    },
  },
  {
    name: 'a delete that is given an entry deletes what is at the path, even if that is of another kind by now',
    needs: emptyDirectories,
    async run(provider) {
      const file = await put(provider, 'folder/a', '')
      await makeFolder(provider, 'folder/b')
      const folder = await provider.stat(at('folder/b'), call())
      await provider.delete(at('folder/a'), { ...call(), entry: file })
      await provider.delete(at('folder/b'), { ...call(), entry: folder })
      assert.deepEqual(await namesIn(provider, 'folder'), [])
      for (const entry of [file, folder]) await provider.delete(at(`folder/${entry.name}`), { ...call(), entry })
      await put(provider, 'folder/b', '')
      await put(provider, 'folder/a/file', 'kept')
      await provider.delete(at('folder/b'), { ...call(), entry: folder })
      await rejectsWith('NOT_EMPTY', provider.delete(at('folder/a'), { ...call(), entry: file }))
      await has(provider, 'folder/a/file', 'kept')
      assert.deepEqual(await namesIn(provider, 'folder'), ['a'])
    },
  },
  {
    name: 'deleting an empty directory keeps its parents',
    needs: emptyDirectories,
    async run(provider) {
      await makeFolder(provider, 'a/b')
      await provider.delete(at('a/b'), call())
      await isMissing(provider, 'a/b')
      assert.deepEqual(await namesIn(provider, 'a'), [])
      await put(provider, 'a/file', '')
      await provider.delete(at('a/file'), call())
      assert.equal((await provider.stat(at('a'), call())).kind, 'directory')
    },
  },
]
