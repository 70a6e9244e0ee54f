import assert from 'node:assert/strict'
import type { Entry, ListPage } from '../contract.ts'
import { at, type Case, call, inParallel, isMissing, listAll, namesIn, put, rejectsWith } from './kit.ts'

/** Returns names in an unsorted order. */
const unsorted = (count: number) =>
  Array.from({ length: count }, (_, i) => `entry ${String((i * 7919) % count).padStart(4, '0')}`)

/** Texts to begin a listing at. */
const starts = ['A', 'a', 'a-b', 'a-b\0', 'a/', 'a0', 'b', 'b\0', 'z\u{fffe}', 'z\u{1f600}\0', 'ö', '\u{10ffff}']

export const listCases: Case[] = [
  {
    name: 'a new provider is an empty directory',
    async run(provider) {
      assert.deepEqual(await listAll(provider, ''), [])
      const root = await provider.stat(at(''), call())
      assert.equal(root.kind, 'directory')
      assert.equal(root.name, '')
    },
  },
  {
    name: 'listed entries equal those of stat, but may lack media type, time and checksums',
    async run(provider) {
      await put(provider, 'folder/file', 'content')
      await put(provider, 'folder/sub/file', 'deeper')
      const entries = await listAll(provider, 'folder')
      assert.deepEqual(entries.map(entry => entry.name).sort(), ['file', 'sub'])
      const file = entries.find(entry => entry.name === 'file')
      const { mimeType, checksums, ...seen } = await provider.stat(at('folder/file'), call())
      assert.ok(file)
      const { mimeType: listedType, checksums: listedSums, ...listed } = file
      assert.deepEqual(listed, {
        ...seen,
        modifiedAt: listed.modifiedAt && roundedDown(seen.modifiedAt, provider.traits.listedTimePrecision),
      })
      assert.ok(listedType === null || listedType === mimeType, `the media type is ${listedType}, not ${mimeType}`)
      if (listedSums) assert.deepEqual(listedSums, checksums)
      const sub = entries.find(entry => entry.name === 'sub')
      assert.equal(sub?.kind, 'directory')
      assert.equal(sub.size, null)
    },
  },
  {
    name: 'two entries are listed in pages of one',
    async run(provider) {
      await put(provider, 'b', '')
      await put(provider, 'a', '')
      assert.deepEqual((await listAll(provider, '', 1)).map(entry => entry.name).sort(), ['a', 'b'])
    },
  },
  {
    name: 'a walk of 2,000 entries (or fewer: manyEntries) returns each exactly once while others are added and removed',
    async run(provider, { manyEntries = 2000 }) {
      const stable = unsorted(Math.min(manyEntries, 2000))
      await inParallel(stable, name => put(provider, `folder/${name}`, ''))
      await inParallel(passing(0), name => put(provider, `folder/${name}`, ''))
      const listed: string[] = []
      let cursor: string | undefined
      let pages = 0
      do {
        const page = await provider.list(at('folder'), { ...call(), limit: 90, ...(cursor ? { cursor } : {}) })
        listed.push(...page.entries.map(entry => entry.name))
        cursor = page.cursor
        // Names before the cursor, after it and next to it.
        await inParallel(passing(pages), name => provider.delete(at(`folder/${name}`), call()))
        await inParallel(passing(pages + 1), name => put(provider, `folder/${name}`, ''))
        pages += 1
        assert.ok(pages < 2000, 'the listing does not end')
      } while (cursor !== undefined)
      const times = new Map<string, number>()
      for (const name of listed) times.set(name, (times.get(name) ?? 0) + 1)
      const wrong = stable.filter(name => times.get(name) !== 1).map(name => `${name}: ${times.get(name) ?? 0} times`)
      assert.equal(wrong.length, 0, `not listed exactly once: ${wrong.slice(0, 5).join(', ')}`)
    },
  },
  {
    name: 'a folder of many entries (default 10,000) is listed without loss or repetition in pages of any size',
    async run(provider, { manyEntries = 10_000 }) {
      const names = Array.from({ length: manyEntries }, (_, i) => `${(i * 7919) % manyEntries} of ${manyEntries}`)
      await inParallel(names, name => put(provider, `folder/${name}`, ''))
      // Walk with the largest pages, with pages that do not divide the number of entries, and with another odd page size.
      for (const limit of [1000, Math.ceil(manyEntries / 13), 997]) {
        const listed = (await listAll(provider, 'folder', Math.min(limit, 1000))).map(entry => entry.name)
        const known = new Set(listed)
        const lost = names.filter(name => !known.has(name))
        assert.equal(
          lost.length,
          0,
          `pages of ${limit} leave out ${lost.length} of ${names.length} entries: ${lost[0]}, ...`,
        )
        assert.equal(listed.length, names.length, `pages of ${limit} repeat ${listed.length - names.length} entries`)
      }
    },
  },
  {
    name: 'a walk that moves to another replica returns every entry that existed at its start',
    needs: (_provider, { reopen }) => (reopen ? undefined : 'reopen in the harness'),
    async run(provider, harness) {
      const other = await harness.reopen?.(provider)
      assert.ok(other)
      try {
        for (const name of ['a', 'b', 'c', 'd']) await put(provider, `folder/${name}`, '')
        for (let round = 0; round < 5; round += 1) {
          // The replica that continues the walk listed the directory before the file was added.
          await provider.list(at('folder'), { ...call(), limit: 2 })
          await put(other, `folder/e ${round}`, '')
          const first: ListPage = await other.list(at('folder'), { ...call(), limit: 2 })
          assert.ok(first.cursor !== undefined)
          const rest = await provider.list(at('folder'), { ...call(), limit: 1000, cursor: first.cursor })
          const listed = [...first.entries, ...rest.entries].map(entry => entry.name).sort()
          const passing = Array.from({ length: round + 1 }, (_, i) => `e ${i}`)
          assert.deepEqual(listed, ['a', 'b', 'c', 'd', ...passing])
        }
      } finally {
        await other.close?.()
      }
    },
  },
  {
    name: 'list returns all entries, in the order of traits.listOrder, and begins at from',
    async run(provider) {
      const { listOrder } = provider.traits
      const files = ['a/file', 'a-b', 'a.txt', 'a0/file', 'b/file', 'b b', 'z\u{fffd}', 'z\u{1f600}', 'ä']
      await inParallel(files, path => put(provider, `folder/${path}`, ''))
      const partOf = ({ name, kind }: Entry) => (kind === 'directory' && listOrder === 'keys' ? `${name}/` : name)
      const folderEnd = listOrder === 'keys' ? '/' : ''
      const all = files.map(path => path.replace('/file', folderEnd)).sort(byBytes)
      const partsOf = (entries: Entry[]) => (listOrder ? entries.map(partOf) : entries.map(partOf).sort(byBytes))
      for (const limit of [1, 2, 1000]) {
        assert.deepEqual(partsOf(await listAll(provider, 'folder', limit)), all, `pages of ${limit}`)
        for (const from of listOrder ? starts : []) {
          const rest = partsOf(await listAll(provider, 'folder', limit, from))
          const wanted = all.filter(part => byBytes(part, from) >= 0)
          assert.deepEqual(rest.slice(rest.length - wanted.length), wanted, `from ${JSON.stringify(from)}`)
          assert.deepEqual(rest, rest.toSorted(byBytes), `from ${JSON.stringify(from)}`)
        }
      }
    },
  },
  {
    name: 'a cursor stays valid when its own entry is deleted',
    async run(provider) {
      for (const name of ['a', 'b', 'c', 'd']) await put(provider, name, '')
      const first = await provider.list(at(''), { ...call(), limit: 2 })
      for (const { name } of first.entries) await provider.delete(at(name), call())
      assert.ok(first.cursor !== undefined)
      const second = await provider.list(at(''), { ...call(), limit: 1000, cursor: first.cursor })
      const names = [...first.entries, ...second.entries].map(entry => entry.name)
      assert.deepEqual(names.sort(), ['a', 'b', 'c', 'd'])
    },
  },
  {
    name: 'a listing shows a write and a delete at once',
    async run(provider) {
      await put(provider, 'file', '')
      assert.deepEqual(await namesIn(provider, ''), ['file'])
      await provider.delete(at('file'), call())
      assert.deepEqual(await namesIn(provider, ''), [])
      await isMissing(provider, 'file')
    },
  },
  {
    name: 'listing a file is NOT_A_DIRECTORY',
    async run(provider) {
      await put(provider, 'file', '')
      await rejectsWith('NOT_A_DIRECTORY', provider.list(at('file'), { ...call(), limit: 10 }))
    },
  },
  {
    name: 'listing a missing directory is NOT_FOUND',
    needs: ({ traits }) => (traits.emptyDirectories ? undefined : 'traits.emptyDirectories'),
    run: provider => rejectsWith('NOT_FOUND', provider.list(at('missing'), { ...call(), limit: 10 })),
  },
]

const byBytes = (a: string, b: string) => Buffer.compare(Buffer.from(a), Buffer.from(b))

/** @param precision milliseconds */
function roundedDown(time: Date | null, precision = 1): Date | null {
  return time && new Date(Math.floor(time.getTime() / precision) * precision)
}

function passing(round: number): string[] {
  return [`aaa ${round}`, `entry ${String(round * 90).padStart(4, '0')} passing`, `zzz ${round}`]
}
