import fs from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { localAdapter } from '../../adapters/backends/local/index.ts'
import { NameLists, packNames } from '../../adapters/backends/local/list.ts'
import { at, call, inParallel, put } from '../../adapters/conformance/kit.ts'
import type { StorageProvider } from '../../adapters/contract.ts'
import { atNight, extent } from '../support/extent.ts'
import { silentHost } from './host.ts'
import { openTemporary } from './temporary.ts'

/** Counts how often readdir(3) reads a directory. */
let reads = 0
const { readdir } = fs.promises
fs.promises.readdir = ((...parameters: Parameters<typeof readdir>) => {
  reads += 1
  return readdir(...parameters)
}) as typeof readdir
syncBuiltinESMExports()

const many = extent({ gate: 800, nightly: 5000 })
/** Milliseconds after which the list of an unchanged directory is complete. */
const settling = 100

async function openFull(t: Test) {
  const temporary = await openTemporary(t)
  const folder = join(temporary.root, 'folder')
  await mkdir(folder)
  const names = Array.from({ length: many }, (_, i) => `file ${String((i * 7919) % many).padStart(5, '0')}`)
  await inParallel(names, name => writeFile(join(folder, name), ''))
  await delay(settling)
  return { ...temporary, names: names.sort() }
}

/** Returns all names, in pages of 100. */
async function walk(provider: StorageProvider, afterPage: () => Promise<unknown> = async () => {}): Promise<string[]> {
  const listed: string[] = []
  let cursor: string | undefined
  do {
    const page = await provider.list(at('folder'), { ...call(), limit: 100, ...(cursor ? { cursor } : {}) })
    listed.push(...page.entries.map(({ name }) => name))
    cursor = page.cursor
    await afterPage()
  } while (cursor !== undefined)
  return listed
}

async function readsOf(work: () => Promise<unknown>): Promise<number> {
  const before = reads
  await work()
  return reads - before
}

t.test('a walk reads the directory once, not for each page', async t => {
  const { provider, names } = await openFull(t)
  t.equal(await readsOf(async () => t.strictSame(await walk(provider), names)), 1)
})

t.test('walks that begin at the same time share one read', async t => {
  const { provider, names } = await openFull(t)
  const count = await readsOf(async () => {
    const walks = await Promise.all(Array.from({ length: extent({ gate: 8, nightly: 20 }) }, () => walk(provider)))
    for (const listed of walks) t.ok(listed.length === names.length && listed.every((name, i) => name === names[i]))
  })
  // A read that is already running does not serve later callers.
  t.ok(count <= 5, `it was read ${count} times`)
})

atNight(t, 'a directory that changes all the time is not read for each page', async t => {
  const { provider, names } = await openFull(t)
  let page = 0
  let listed: string[] = []
  const count = await readsOf(async () => {
    listed = await walk(provider, () => put(provider, `folder/passing ${page++}`, ''))
  })
  t.ok(count <= 3, `it was read ${count} times`)
  t.strictSame(
    listed.filter(name => !name.startsWith('passing')),
    names,
  )
})

t.test('a walk that continues on another replica or after a restart reads the directory once there', async t => {
  const { provider, root, names } = await openFull(t)
  const replicas = [
    provider,
    await localAdapter({ localRoots: [root], dataFolder: '/nowhere' }).open({ root }, silentHost),
  ]
  // Closing waits for the sweep of the staging folder.
  t.teardown(() => replicas[1]?.close?.())
  const first = await provider.list(at('folder'), { ...call(), limit: 100 })
  const listed = first.entries.map(({ name }) => name)
  let cursor = first.cursor
  const count = await readsOf(async () => {
    for (let turn = 1; cursor !== undefined; turn += 1) {
      const page = await replicas[turn % 2]?.list(at('folder'), { ...call(), limit: 100, cursor })
      listed.push(...(page?.entries.map(({ name }) => name) ?? []))
      cursor = page?.cursor
    }
  })
  t.equal(count, 1)
  t.strictSame(listed, names)
})

t.test('the first page always reads the directory and so includes new files', async t => {
  const { provider, root } = await openFull(t)
  for (let round = 0; round < extent({ gate: 10, nightly: 50 }); round += 1) {
    const name = `a ${String(round).padStart(2, '0')}`
    const other = provider.list(at('folder'), { ...call(), limit: 1 })
    await writeFile(join(root, 'folder', name), '')
    const page = await provider.list(at('folder'), { ...call(), limit: round + 1 })
    t.equal(page.entries.at(-1)?.name, name)
    await other
  }
})

t.test('the cache of lists is bounded and drops the least recently used', async t => {
  const lists = new NameLists(100)
  const list = (length: number) => ({ names: packNames(['x'.repeat(length - 1)]), completeTo: 1n })
  const directory = (key: string) => ({ key, changedAt: 1n })
  const kept = () => ['a', 'b', 'c', 'd'].filter(key => lists.cached(directory(key), 1n))
  lists.cache(directory('a'), list(40))
  lists.cache(directory('b'), list(40))
  t.same(kept(), ['a', 'b'])
  lists.cached(directory('a'), 1n)
  lists.cache(directory('c'), list(40))
  t.same(kept(), ['a', 'c'])
  lists.cache(directory('d'), list(101))
  t.same(kept(), ['a', 'c'], 'a list larger than the cache is not cached')
  lists.cache(directory('a'), list(60))
  t.same(kept(), ['a', 'c'], 'a replaced list frees its bytes')
  t.notOk(lists.cached(directory('a'), 2n), 'a list does not serve a walk that began later')
})
