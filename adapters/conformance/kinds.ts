import assert from 'node:assert/strict'
import { at, type Case, call, get, has, isMissing, makeFolder, namesIn, put, rejectsWith } from './kit.ts'

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
