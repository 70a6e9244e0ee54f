import assert from 'node:assert/strict'
import type { NativeTrash, StorageProvider } from '../contract.ts'
import { at, type Case, call, has, isMissing, Lacking, namesIn, pattern, put, rejectsWith } from './kit.ts'

const needs: NonNullable<Case['needs']> = ({ trash }) => (trash ? undefined : 'a trash of its own')

function trashOf({ trash }: StorageProvider): NativeTrash {
  if (!trash) throw new Lacking('a trash of its own')
  return trash
}

/** Moves an entry to the trash and returns its id. */
async function discard(provider: StorageProvider, path: string): Promise<string> {
  const trash = trashOf(provider)
  const id = await trash.identify(at(path), call())
  assert.ok(id.length > 0 && id.length <= 1024, `an id has ${id.length} characters`)
  assert.equal(await trash.has(id, call()), false, 'an entry is in the trash before it is put there')
  await trash.put(id, at(path), call())
  return id
}

export const trashCases: Case[] = [
  {
    name: 'trash: a file leaves its path, and comes back to any path with its bytes',
    needs,
    async run(provider) {
      const trash = trashOf(provider)
      const bytes = pattern(70_000)
      await put(provider, 'folder/file', bytes)
      const id = await discard(provider, 'folder/file')
      await isMissing(provider, 'folder/file')
      assert.deepEqual(await namesIn(provider, 'folder'), [])
      assert.equal(await trash.has(id, call()), true)
      await trash.put(id, at('folder/file'), call())
      const entry = await trash.restore(id, at('a/b/other'), call())
      assert.deepEqual(entry, await provider.stat(at('a/b/other'), call()))
      await has(provider, 'a/b/other', bytes)
      assert.equal(await trash.has(id, call()), false)
    },
  },
  {
    name: 'trash: a directory comes back with everything below it',
    needs,
    async run(provider) {
      const trash = trashOf(provider)
      await put(provider, 'top/a/file', 'one')
      await put(provider, 'top/b', 'two')
      const below = await trash.identify(at('top/b'), call())
      const id = await discard(provider, 'top')
      await isMissing(provider, 'top')
      await isMissing(provider, 'top/a/file')
      assert.equal(
        await trash.has(below, call()),
        false,
        'an entry of a directory in the trash counts as deleted itself',
      )
      await trash.restore(id, at('top'), call())
      await has(provider, 'top/a/file', 'one')
      await has(provider, 'top/b', 'two')
    },
  },
  {
    name: 'trash: nothing is replaced',
    needs,
    async run(provider) {
      const trash = trashOf(provider)
      await put(provider, 'file', 'deleted')
      const id = await discard(provider, 'file')
      await put(provider, 'file', 'new')
      await rejectsWith('ALREADY_EXISTS', trash.restore(id, at('file'), call()))
      await has(provider, 'file', 'new')
      assert.equal(await trash.has(id, call()), true)
      await trash.restore(id, at('beside'), call())
      await has(provider, 'beside', 'deleted')
    },
  },
  {
    name: 'trash: two entries of one path are told apart, and a removed one is gone',
    needs,
    async run(provider) {
      const trash = trashOf(provider)
      await put(provider, 'file', 'first')
      const first = await discard(provider, 'file')
      await put(provider, 'file', 'second')
      const second = await discard(provider, 'file')
      assert.notEqual(first, second)
      await trash.remove(first, call())
      await trash.remove(first, call())
      assert.equal(await trash.has(first, call()), false)
      await rejectsWith('NOT_FOUND', trash.restore(first, at('file'), call()))
      await trash.restore(second, at('file'), call())
      await has(provider, 'file', 'second')
    },
  },
  {
    name: 'trash: only what is there is restored or removed, and a missing path has no id',
    needs,
    async run(provider) {
      const trash = trashOf(provider)
      await rejectsWith('NOT_FOUND', trash.identify(at('missing'), call()))
      await put(provider, 'file', 'kept')
      const id = await trash.identify(at('file'), call())
      await rejectsWith('NOT_FOUND', trash.restore(id, at('other'), call()))
      await trash.remove(id, call())
      await has(provider, 'file', 'kept')
    },
  },
]
