/** Cases about the versions that a back end keeps by itself. */
import assert from 'node:assert/strict'
import { buffer } from 'node:stream/consumers'
import type { ByteRange, NativeVersion, NativeVersions, StorageProvider } from '../contract.ts'
import { assertSameBytes, at, type Case, call, has, Lacking, pattern, put, rejectsWith } from './kit.ts'

const hasVersions: NonNullable<Case['needs']> = ({ versions }) => (versions ? undefined : 'versions of its own')

/** Needs a method that not every back end with versions has. */
const hasMethod =
  (name: 'restore' | 'remove' | 'deleted'): NonNullable<Case['needs']> =>
  (provider, harness) =>
    hasVersions(provider, harness) ?? (provider.versions?.[name] ? undefined : `the method versions.${name}`)

function versionsOf({ versions }: StorageProvider): NativeVersions {
  if (!versions) throw new Lacking('versions of its own')
  return versions
}

/** Returns all versions of a path, page by page. */
async function listed(provider: StorageProvider, path: string, limit = 100): Promise<NativeVersion[]> {
  const found: NativeVersion[] = []
  let cursor: string | undefined
  for (let pages = 0; pages < 100; pages += 1) {
    const options = { ...call(), limit, ...(cursor !== undefined && { cursor }) }
    const page = await versionsOf(provider).list(at(path), options)
    assert.ok(page.versions.length <= limit, `a page has ${page.versions.length} versions, more than ${limit}`)
    found.push(...page.versions)
    if (page.cursor === undefined) return found
    assert.notEqual(page.cursor, cursor, 'list returned the cursor that was passed in')
    cursor = page.cursor
  }
  throw new assert.AssertionError({ message: 'the list of versions does not end' })
}

async function bytesOf(provider: StorageProvider, path: string, id: string, range?: ByteRange): Promise<Buffer> {
  const { body } = await versionsOf(provider).read(at(path), id, { ...call(), ...(range && { range }) })
  return await buffer(body)
}

/** Stores contents at a path, one after the other. */
async function replaced(provider: StorageProvider, path: string, contents: readonly (string | Buffer)[]) {
  for (const content of contents) await put(provider, path, content, true)
}

async function deletedBelow(provider: StorageProvider, folder: string, limit: number): Promise<string[]> {
  const found: string[] = []
  let cursor: string | undefined
  do {
    const options = { ...call(), limit, ...(cursor !== undefined && { cursor }) }
    const page = await versionsOf(provider).deleted?.(at(folder), options)
    assert.ok(page && page.paths.length <= limit, `a page has more than ${limit} paths`)
    assert.ok(page.cursor === undefined || page.cursor !== cursor, 'deleted returned the cursor that was passed in')
    found.push(...page.paths)
    cursor = page.cursor
  } while (cursor !== undefined)
  return found
}

const idOfNone = 'no-such-version'

export const versionCases: Case[] = [
  {
    name: 'versions: what is replaced is listed, the newest first, and read as a whole and in ranges',
    needs: hasVersions,
    async run(provider) {
      const old = pattern(70_000)
      await replaced(provider, 'folder/file', [old, 'second', 'the third'])
      const found = await listed(provider, 'folder/file')
      assert.deepEqual(
        found.map(({ size }) => size),
        [6, old.length],
      )
      const [newer, older] = found
      assert.ok(newer && older && newer.id !== older.id)
      for (const { id } of found) assert.ok(id.length > 0 && id.length <= 1024, `an id has ${id.length} characters`)
      assertSameBytes(await bytesOf(provider, 'folder/file', newer.id), Buffer.from('second'), 'the newer version')
      assertSameBytes(await bytesOf(provider, 'folder/file', older.id), old, 'the older version')
      const part = await bytesOf(provider, 'folder/file', older.id, { offset: 65_000, length: 1000 })
      assertSameBytes(part, old.subarray(65_000, 66_000), 'a range of the older version')
      const { kind, name, size, fileId } = await versionsOf(provider).stat(at('folder/file'), older.id, call())
      assert.deepEqual(
        { kind, name, size, fileId },
        { kind: 'file', name: 'file', size: old.length, fileId: undefined },
      )
      const { entry, body } = await versionsOf(provider).read(at('folder/file'), older.id, call())
      body.destroy()
      assert.equal(entry.size, old.length)
      await has(provider, 'folder/file', 'the third')
      assert.deepEqual(await listed(provider, 'folder/file'), found, 'another call lists other versions')
    },
  },
  {
    name: 'versions: pages of any size list each version once',
    needs: hasVersions,
    async run(provider) {
      await replaced(provider, 'file', ['1', '22', '333', '4444'])
      // Its name begins with that of the file.
      await replaced(provider, 'file2', ['x', 'y'])
      for (const limit of [1, 2, 100]) {
        const sizes = (await listed(provider, 'file', limit)).map(({ size }) => size)
        assert.deepEqual(sizes, [3, 2, 1], `in pages of ${limit}`)
      }
    },
  },
  {
    name: 'versions: a file that was never replaced and a missing one have none, and an unknown id is NOT_FOUND',
    needs: hasVersions,
    async run(provider) {
      await put(provider, 'file', 'only')
      assert.deepEqual(await listed(provider, 'file'), [])
      assert.deepEqual(await listed(provider, 'missing'), [])
      const versions = versionsOf(provider)
      await rejectsWith('NOT_FOUND', versions.stat(at('file'), idOfNone, call()))
      await rejectsWith('NOT_FOUND', versions.read(at('file'), idOfNone, call()))
      await replaced(provider, 'other', ['old', 'new'])
      const [version] = await listed(provider, 'other')
      assert.ok(version)
      await rejectsWith('NOT_FOUND', versions.read(at('file'), version.id, call()))
      await rejectsWith('NOT_FOUND', versions.stat(at('missing'), version.id, call()))
    },
  },
  {
    name: 'versions: a restored version is the content again, and what it replaces becomes a version',
    needs: hasMethod('restore'),
    async run(provider) {
      await replaced(provider, 'a b/100% ü.txt', ['first', 'second one'])
      const [first] = await listed(provider, 'a b/100% ü.txt')
      assert.ok(first)
      const entry = await versionsOf(provider).restore?.(at('a b/100% ü.txt'), first.id, call())
      assert.equal(entry?.size, 5)
      await has(provider, 'a b/100% ü.txt', 'first')
      const [newest] = await listed(provider, 'a b/100% ü.txt')
      assert.ok(newest)
      assertSameBytes(await bytesOf(provider, 'a b/100% ü.txt', newest.id), Buffer.from('second one'), 'the newest')
      const unknown = versionsOf(provider).restore?.(at('a b/100% ü.txt'), idOfNone, call())
      await rejectsWith('NOT_FOUND', Promise.resolve(unknown))
    },
  },
  {
    name: 'versions: a removed version is gone, and the others and the file stay',
    needs: hasMethod('remove'),
    async run(provider) {
      await replaced(provider, 'file', ['1', '22', '333'])
      const [newer, older] = await listed(provider, 'file')
      assert.ok(newer && older)
      const versions = versionsOf(provider)
      for (const _again of [1, 2]) await versions.remove?.(at('file'), newer.id, call())
      assert.deepEqual(
        (await listed(provider, 'file')).map(({ id }) => id),
        [older.id],
      )
      await rejectsWith('NOT_FOUND', versions.read(at('file'), newer.id, call()))
      await has(provider, 'file', '333')
    },
  },
  {
    name: 'versions: deleted files are found once, and their last content is their newest version',
    needs: hasMethod('deleted'),
    async run(provider) {
      const gone = ['folder/a', 'folder/sub/b', 'folder/z']
      for (const path of [...gone, 'folder/back', 'folder/stays', 'folder2/x', 'x']) {
        await replaced(provider, path, ['old', 'the last'])
      }
      for (const path of [...gone, 'folder/back', 'folder2/x', 'x']) await provider.delete(at(path), call())
      await put(provider, 'folder/back', 'again')
      for (const limit of [1, 2, 1000]) {
        assert.deepEqual((await deletedBelow(provider, 'folder', limit)).toSorted(), gone, `in pages of ${limit}`)
      }
      assert.deepEqual((await deletedBelow(provider, '', 1000)).toSorted(), [...gone, 'folder2/x', 'x'])
      assert.deepEqual(await deletedBelow(provider, 'missing', 1000), [])
      const [newest] = await listed(provider, 'folder/sub/b')
      assert.ok(newest)
      assertSameBytes(await bytesOf(provider, 'folder/sub/b', newest.id), Buffer.from('the last'), 'the last content')
    },
  },
]
