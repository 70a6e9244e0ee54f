import assert from 'node:assert/strict'
import type { Entry, StorageProvider } from '../contract.ts'
import { assertWritten, at, bodyOf, type Case, call, has, Lacking, listAll, makeFolder, put } from './kit.ts'
import { inOneStep } from './optional.ts'

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

/** Milliseconds: the coarsest time that `traits.keepsModifiedAt` allows. */
const resolution = 2_000
/** Milliseconds by which the clock of a back end may differ. */
const clockTolerance = 60 * 60_000

const past = new Date('2001-02-03T04:05:06.789Z')
const future = new Date(Date.now() + 30 * 24 * 60 * 60_000)

const keeps: NonNullable<Case['needs']> = ({ traits }) =>
  traits.keepsModifiedAt ? undefined : 'the trait keepsModifiedAt'

function write(provider: StorageProvider, path: string, modifiedAt?: Date, overwrite = false): Promise<Entry> {
  const options = { ...call(), overwrite, ...(modifiedAt && { modifiedAt }) }
  return provider.write(at(path), bodyOf(`content of ${path}`), options)
}

function isAt({ modifiedAt }: Entry, time: Date, what: string): void {
  const isNear = Math.abs(Number(modifiedAt) - time.getTime()) < resolution
  assert.ok(isNear, `${what}: modifiedAt is ${modifiedAt?.toISOString()} instead of ${time.toISOString()}`)
}

export const modifiedAtCases: Case[] = [
  {
    name: 'modifiedAt: a write that is given a time stores the file',
    async run(provider) {
      const start = Date.now()
      const written = await write(provider, 'folder/file', past)
      await has(provider, 'folder/file', 'content of folder/file')
      const seen = await provider.stat(at('folder/file'), call())
      assertWritten(written, seen)
      if (provider.traits.keepsModifiedAt || seen.modifiedAt === null) return
      const isNow = Math.abs(seen.modifiedAt.getTime() - start) < clockTolerance
      assert.ok(isNow, `modifiedAt is ${seen.modifiedAt.toISOString()}: set traits.keepsModifiedAt`)
    },
  },
  {
    name: 'modifiedAt: every entry has the time that the write was given',
    needs: keeps,
    async run(provider) {
      for (const [path, time] of [
        ['folder/past', past],
        ['folder/future', future],
      ] as const) {
        isAt(await write(provider, path, time), time, `write of ${path}`)
        const seen = await provider.stat(at(path), call())
        isAt(seen, time, `stat of ${path}`)
        const { body, entry } = await provider.read(at(path), call())
        body.destroy()
        isAt(entry, time, `read of ${path}`)
        const listed = (await listAll(provider, 'folder')).find(({ name }) => path.endsWith(name))
        assert.deepEqual(listed?.modifiedAt, seen.modifiedAt, 'a listing and stat return different times')
      }
    },
  },
  {
    name: 'modifiedAt: a write over a file sets its time, and its etag changes',
    needs: keeps,
    async run(provider) {
      const first = await write(provider, 'file', past)
      const second = await provider.write(at('file'), bodyOf('Content of file'), {
        ...call(),
        overwrite: true,
        modifiedAt: past,
      })
      isAt(second, past, 'the second write')
      if (first.etag !== null) assert.notEqual(second.etag, first.etag, 'other bytes have the same etag')
      isAt(await write(provider, 'file', undefined, true), new Date(), 'a write without a time')
    },
  },
  {
    name: 'modifiedAt: a resumable upload has the time that it began with',
    needs: (provider, harness) => keeps(provider, harness) ?? (provider.resumable ? undefined : 'resumable writes'),
    async run(provider) {
      const { resumable } = provider
      if (!resumable) return
      for (const bytes of ['', 'content']) {
        const path = `folder/${bytes.length}`
        const state = await resumable.begin(at(path), { ...call(), size: bytes.length, modifiedAt: past })
        const end = { ...call(), offset: 0, size: bytes.length, overwrite: false }
        isAt(await resumable.complete(state, bodyOf(bytes), end), past, 'the completed upload')
        isAt(await provider.stat(at(path), call()), past, 'stat of the completed upload')
      }
    },
  },
  {
    name: 'modifiedAt: a copy has the time of its source',
    needs: (provider, harness) => keeps(provider, harness) ?? (provider.copy ? undefined : 'the method copy'),
    async run(provider) {
      await write(provider, 'file', past)
      const copied = await inOneStep(provider.copy?.(at('file'), at('a/copy'), { ...call(), overwrite: false }))
      if (!copied) throw new Lacking('this operation in one step (NOT_IN_ONE_STEP)')
      isAt(copied, past, 'the copy')
      isAt(await provider.stat(at('a/copy'), call()), past, 'stat of the copy')
    },
  },
]
