import assert from 'node:assert/strict'
import type { Entry, StorageProvider } from '../contract.ts'
import { at, type Case, call, Lacking, listAll, makeFolder, put } from './kit.ts'

const maxLength = 2048

/** Returns the id of an entry. @throws Lacking where it has none */
function idOf({ fileId, name }: Entry): string {
  if (fileId === undefined) throw new Lacking('Entry.fileId')
  assert.equal(typeof fileId, 'string', `the fileId of "${name}" is a ${typeof fileId}`)
  const { length } = fileId
  assert.ok(
    length > 0 && length <= maxLength,
    `the fileId of "${name}" has ${length} characters, not 1 to ${maxLength}`,
  )
  return fileId
}

async function statId(provider: StorageProvider, path: string): Promise<string> {
  return idOf(await provider.stat(at(path), call()))
}

const paths = ['', 'folder', 'folder/file', 'folder/other', 'folder/deep', 'folder/deep/file', 'file']

/** Creates files, of which some have the same name and some the same content. Returns the id of each path. */
async function fill(provider: StorageProvider): Promise<Map<string, string>> {
  idOf(await put(provider, 'folder/file', 'content'))
  await put(provider, 'folder/other', 'content')
  await put(provider, 'folder/deep/file', 'other')
  await put(provider, 'file', 'content')
  return new Map(await Promise.all(paths.map(async path => [path, await statId(provider, path)] as const)))
}

export const fileIdCases: Case[] = [
  {
    name: 'fileId: differs for every file and folder, and is the same in every result',
    async run(provider) {
      const ids = await fill(provider)
      assert.equal(new Set(ids.values()).size, paths.length, `some ids are the same: ${[...ids.values()].join(', ')}`)
      for (const folder of ['', 'folder', 'folder/deep']) {
        for (const entry of await listAll(provider, folder)) {
          const path = folder === '' ? entry.name : `${folder}/${entry.name}`
          assert.equal(idOf(entry), ids.get(path), `list and stat return different fileIds for "${path}"`)
        }
      }
      const { body, entry } = await provider.read(at('file'), call())
      body.destroy()
      assert.equal(idOf(entry), ids.get('file'), 'read and stat return different fileIds')
      const written = await put(provider, 'new', 'content')
      assert.equal(idOf(written), await statId(provider, 'new'), 'write and stat return different fileIds')
      for (const [path, id] of ids)
        assert.equal(await statId(provider, path), id, `the fileId of "${path}" has changed`)
    },
  },
  {
    name: 'fileId: an empty folder keeps its id while files are added and removed',
    async run(provider) {
      await makeFolder(provider, 'folder')
      if (!provider.traits.emptyDirectories) await put(provider, 'folder/first', 'content')
      const id = await statId(provider, 'folder')
      await put(provider, 'folder/file', 'content')
      assert.equal(await statId(provider, 'folder'), id, 'the fileId of a folder changed with its content')
    },
  },
  {
    name: 'fileId: is the same through another provider on the same back end',
    needs: (_, harness) => (harness.reopen ? undefined : 'reopen in the harness'),
    async run(provider, harness) {
      const ids = await fill(provider)
      const other = await harness.reopen?.(provider)
      assert.ok(other)
      try {
        for (const [path, id] of ids) assert.equal(await statId(other, path), id, `"${path}" has another fileId there`)
      } finally {
        await other.close?.()
      }
    },
  },
  {
    name: 'fileId: is the same through a provider that opens a folder of this one',
    needs: (_, harness) => (harness.openFolder ? undefined : 'openFolder in the harness'),
    async run(provider, harness) {
      const ids = await fill(provider)
      const inner = await harness.openFolder?.(provider, 'folder')
      assert.ok(inner)
      try {
        for (const path of ['', 'file', 'other', 'deep', 'deep/file']) {
          const outer = path === '' ? 'folder' : `folder/${path}`
          assert.equal(await statId(inner, path), ids.get(outer), `"${outer}" has another fileId there`)
        }
      } finally {
        await inner.close?.()
      }
    },
  },
]
