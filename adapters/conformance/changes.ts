/** The cases for changes that others make and an adapter reports. */
import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import type { ChangesPage, Entry, StorageProvider } from '../contract.ts'
import type { Harness } from './harness.ts'
import { at, type Case, call, Lacking, makeFolder, put } from './kit.ts'

/** Milliseconds in which a back end reports a change, unless the harness sets another time. */
const usualReportTime = 30_000

const needs: NonNullable<Case['needs']> = (provider, harness) => {
  if (!provider.changes) return 'the method changes'
  return harness.reopen ? undefined : 'reopen in the harness'
}

interface Expected {
  path: string
  /** An id by which the entry may be reported instead. */
  fileId?: string | undefined
}

function checkPage(page: ChangesPage | null | undefined): ChangesPage {
  if (page == null) throw new Lacking('a back end that can tell what has changed')
  const { changed, cursor, hasMore } = page
  assert.ok(typeof cursor === 'string' && cursor.length > 0 && cursor.length <= 4096, `a cursor is ${cursor}`)
  assert.equal(typeof hasMore, 'boolean', `hasMore is ${hasMore}`)
  if (changed === 'everything') return page
  assert.ok(Array.isArray(changed) && changed.length <= 1000, 'a page has more than 1,000 changes')
  for (const { path, fileId } of changed) {
    assert.ok(path !== undefined || fileId !== undefined, 'a change has neither a path nor an id')
    if (path === undefined) continue
    const isPath = path === '' || path.split('/').every((name: string) => !['', '.', '..'].includes(name))
    assert.ok(isPath, `${JSON.stringify(path)} is no path of the provider`)
  }
  return page
}

function covers({ changed }: ChangesPage, { path, fileId }: Expected): boolean {
  if (changed === 'everything') return true
  return changed.some(
    each =>
      each.path === path ||
      (fileId !== undefined && each.fileId === fileId) ||
      (each.isTree === true && each.path !== undefined && (each.path === '' || path.startsWith(`${each.path}/`))),
  )
}

/** Returns the present position, once the back end has nothing more to say. */
async function present(provider: StorageProvider, { reportTime = usualReportTime }: Harness): Promise<string> {
  let { cursor } = checkPage(await provider.changes?.(null, call()))
  const end = performance.now() + reportTime
  for (let quiet = 0; quiet < 2 && performance.now() < end; ) {
    await sleep(100)
    const page = checkPage(await provider.changes?.(cursor, call()))
    quiet = page.changed.length === 0 && !page.hasMore ? quiet + 1 : 0
    cursor = page.cursor
  }
  return cursor
}

/** Asks until everything that is expected was reported. Returns the position after that. */
async function isReported(
  provider: StorageProvider,
  from: string,
  expected: readonly Expected[],
  { reportTime = usualReportTime }: Harness,
): Promise<string> {
  let cursor = from
  let missing = [...expected]
  for (const end = performance.now() + reportTime; missing.length > 0; ) {
    const page = checkPage(await provider.changes?.(cursor, call()))
    cursor = page.cursor
    missing = missing.filter(each => !covers(page, each))
    if (page.hasMore || missing.length === 0) continue
    assert.ok(performance.now() < end, `not reported: ${missing.map(({ path }) => path).join(', ')}`)
    await sleep(100)
  }
  return cursor
}

async function entryAt(provider: StorageProvider, path: string): Promise<Entry> {
  return await provider.stat(at(path), call())
}

/** Runs `work` with another provider of the same back end. */
async function asAnother(
  provider: StorageProvider,
  harness: Harness,
  work: (other: StorageProvider) => Promise<void>,
): Promise<void> {
  const other = await harness.reopen?.(provider)
  if (!other) throw new Lacking('reopen in the harness')
  try {
    await work(other)
  } finally {
    await other.close?.()
  }
}

export const changesCases: Case[] = [
  {
    name: 'changes: what another provider writes, replaces, moves and removes is reported',
    needs,
    async run(provider, harness) {
      await put(provider, 'kept/replaced', 'one')
      await put(provider, 'kept/removed', 'one')
      await put(provider, 'gone/below/file', 'one')
      const removed = await entryAt(provider, 'kept/removed')
      const gone = await entryAt(provider, 'gone')
      let cursor = await present(provider, harness)
      await asAnother(provider, harness, async other => {
        await put(other, 'new/file', 'one')
        await put(other, 'kept/replaced', 'another', true)
        await makeFolder(other, 'empty')
        await other.delete(at('kept/removed'), call())
        cursor = await isReported(
          provider,
          cursor,
          [
            { path: 'new/file' },
            { path: 'kept/replaced' },
            { path: 'kept/removed', fileId: removed.fileId },
            ...(provider.traits.emptyDirectories ? [{ path: 'empty' }] : []),
          ],
          harness,
        )
        if (!other.move) return
        const moved = await other.move(at('gone'), at('moved'), { ...call(), overwrite: false })
        cursor = await isReported(provider, cursor, [{ path: 'gone', fileId: gone.fileId }, { path: 'moved' }], harness)
        assert.equal(moved.kind, 'directory')
        await put(other, 'moved/below/later', 'one')
        await isReported(provider, cursor, [{ path: 'moved/below/later' }], harness)
      })
    },
  },
  {
    name: 'changes: a result that was lost is reported again for the cursor before it',
    needs,
    async run(provider, harness) {
      await put(provider, 'first', 'one')
      const cursor = await present(provider, harness)
      await asAnother(provider, harness, async other => {
        await put(other, 'second', 'one')
        await isReported(provider, cursor, [{ path: 'second' }], harness)
        await isReported(provider, cursor, [{ path: 'second' }], harness)
      })
    },
  },
  {
    name: 'changes: nothing is reported where nothing has changed',
    needs,
    async run(provider, harness) {
      await put(provider, 'file', 'one')
      const cursor = await present(provider, harness)
      const page = checkPage(await provider.changes?.(cursor, call()))
      assert.deepEqual(page.changed, [], 'a change is reported again')
      assert.equal(page.hasMore, false)
    },
  },
]
