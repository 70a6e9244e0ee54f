/** What a local provider reports of folders that come and go. */
import { mkdir, rename } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { Watcher } from '../../adapters/backends/local/watcher.ts'
import { call } from '../../adapters/conformance/kit.ts'
import type { ChangedEntry } from '../../adapters/contract.ts'
import { until } from '../support/until.ts'
import { openTemporary } from './temporary.ts'

/** Opens a provider whose folders are watched, and gathers what it reports. */
async function openWatched(t: Test, folder: string) {
  const { provider, root, outside } = await openTemporary(t)
  await mkdir(join(root, folder), { recursive: true })
  const reported: ChangedEntry[] = []
  let cursor: string | null = null
  /** Returns whether anything may have changed. */
  async function ask(): Promise<boolean> {
    const page = await provider.changes?.(cursor, call())
    cursor = page?.cursor ?? null
    if (page?.changed === 'everything') return true
    reported.push(...(page?.changed ?? []))
    return false
  }
  // Anything may have changed until all folders are watched.
  await until(ask)
  return {
    inside: (path: string) => join(root, path),
    outside: (path: string) => join(outside, path),
    reported,
    arrives: (path: string, isTree: boolean) =>
      until(async () => {
        await ask()
        return reported.some(each => each.path === path && each.isTree === isTree) || reported
      }),
  }
}

t.test('the host looks below a new folder only if it was not empty when it was watched', async t => {
  const { inside, outside, reported, arrives } = await openWatched(t, 'kept')
  await mkdir(inside('empty'))
  await mkdir(outside('full/below'), { recursive: true })
  await rename(outside('full'), inside('full'))
  // New folders are watched in their order.
  await arrives('full', true)
  t.same(
    reported.filter(({ path }) => path === 'empty').map(({ isTree }) => isTree),
    [false],
  )
})

t.test('the host looks below an empty folder in the place of another', async t => {
  const { inside, outside, arrives } = await openWatched(t, 'replaced/below')
  await rename(inside('replaced'), outside('replaced'))
  await arrives('replaced', false)
  await mkdir(inside('replaced'))
  await arrives('replaced', true)
})

t.test('a disk that answers no questions gets few of them', async t => {
  const silent = "import { parentPort } from 'node:worker_threads'; parentPort.on('message', () => {})"
  const watcher = new Watcher(new URL(`data:text/javascript,${encodeURIComponent(silent)}`))
  const root = { path: '/', dev: 0n, ino: 0n }
  const hung = watcher.watch(root, () => {})
  const other = watcher.watch(root, () => {})
  t.teardown(() => {
    for (const { close } of [hung, other]) close()
  })
  const ask = (of: typeof hung) => of.changes(null, { signal: AbortSignal.timeout(20), isBusy: false })
  for (let n = 0; n < 2; n += 1) await t.rejects(ask(hung), { name: 'TimeoutError' })
  for (let n = 0; n < 2; n += 1) await t.rejects(ask(hung), { code: 'UNAVAILABLE', message: /has not answered/ })
  await t.rejects(ask(other), { name: 'TimeoutError' }, 'other disks are asked')
  hung.close()
  other.close()
  await t.rejects(ask(hung), { name: 'TimeoutError' }, 'a new thread is asked')
})
