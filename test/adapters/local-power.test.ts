/**
 * Power cuts: the result of a resolved call is on the disk. Each case runs on its own ext4, whose device is copied at the
 * moment when the call resolves. The copy is the disk of a machine that lost its power then. Needs root and loop devices.
 */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { localAdapter } from '../../adapters/backends/local/index.ts'
import { at, bodyOf, call, has, isMissing, makeFolder, namesIn, pattern, put } from '../../adapters/conformance/kit.ts'
import type { StorageProvider } from '../../adapters/contract.ts'
import { extent } from '../support/extent.ts'
import { until } from '../support/until.ts'
import { silentHost } from './host.ts'

const inside = '--in-namespace'
const keep = { ...call(), overwrite: false }
const bytes = pattern(300_000)
const small = pattern(10_000)
const past = new Date('2001-02-03T04:05:06.789Z')

interface Case {
  name: string
  before?(provider: StorageProvider): Promise<unknown>
  /** `after` gets its result, on the copy of the disk. */
  run(provider: StorageProvider): Promise<unknown>
  after(provider: StorageProvider, result: unknown): Promise<unknown>
}

const cases: Case[] = [
  {
    name: 'a new file',
    run: provider => put(provider, 'file', bytes),
    after: provider => has(provider, 'file', bytes),
  },
  {
    name: 'a new file with the time of its source',
    run: provider => provider.write(at('file'), bodyOf(bytes), { ...keep, modifiedAt: past }),
    async after(provider) {
      await has(provider, 'file', bytes)
      assert.deepEqual((await provider.stat(at('file'), call())).modifiedAt, past)
    },
  },
  {
    name: 'a new file in new folders',
    run: provider => put(provider, 'a/b/c/file', bytes),
    after: provider => has(provider, 'a/b/c/file', bytes),
  },
  {
    name: 'a file that replaces another',
    before: provider => put(provider, 'folder/file', 'old'),
    run: provider => put(provider, 'folder/file', bytes, true),
    after: provider => has(provider, 'folder/file', bytes),
  },
  {
    name: 'a folder and its parents',
    run: provider => makeFolder(provider, 'a/b/c', true),
    after: async provider => assert.deepEqual(await namesIn(provider, 'a/b'), ['c']),
  },
  {
    name: 'a copy',
    before: provider => put(provider, 'file', bytes),
    run: async provider => provider.copy?.(at('file'), at('new/copy'), keep),
    after: provider => has(provider, 'new/copy', bytes),
  },
  {
    name: 'files that are copied together',
    async before(provider) {
      for (const name of ['a', 'b', 'c']) await put(provider, `from/${name}`, small)
      await makeFolder(provider, 'to')
      await until(
        async () => (await provider.readSmall?.(at('from/a'), { ...call(), maxBytes: small.length })) !== null,
      )
    },
    run: async provider => provider.copySmall?.(at('from'), at('to'), ['a', 'b', 'c'], call()),
    async after(provider, copies) {
      const copied = ['a', 'b', 'c'].filter((_, index) => Array.isArray(copies) && copies[index])
      assert.ok(copied.length > 0, 'no file was copied')
      for (const name of copied) await has(provider, `to/${name}`, small)
    },
  },
  ...[false, true].map(overwrite => ({
    name: `a file that is moved, overwrite: ${overwrite}`,
    before: (provider: StorageProvider) => put(provider, 'from/file', bytes),
    run: async (provider: StorageProvider) => provider.move?.(at('from/file'), at('to/file'), { ...call(), overwrite }),
    after: async (provider: StorageProvider) => {
      await has(provider, 'to/file', bytes)
      assert.deepEqual(await namesIn(provider, 'from'), [], 'not at its old path')
    },
  })),
  {
    name: 'a folder that is moved',
    before: provider => put(provider, 'from/file', bytes),
    run: async provider => provider.move?.(at('from'), at('to/folder'), keep),
    after: async provider => {
      await has(provider, 'to/folder/file', bytes)
      await isMissing(provider, 'from')
    },
  },
  {
    name: 'an unfinished upload',
    async run({ resumable }) {
      const state = await resumable?.begin(at('new/file'), call())
      return resumable?.append(state ?? '', bodyOf(bytes), { ...call(), offset: 0, size: bytes.length })
    },
    async after(provider, state) {
      const options = { ...keep, offset: bytes.length, size: 0 }
      await provider.resumable?.complete(String(state), bodyOf(''), options)
      await has(provider, 'new/file', bytes)
    },
  },
  {
    name: 'a finished upload',
    async run({ resumable }) {
      const state = await resumable?.begin(at('new/file'), call())
      await resumable?.complete(state ?? '', bodyOf(bytes), { ...keep, offset: 0, size: bytes.length })
    },
    after: provider => has(provider, 'new/file', bytes),
  },
]

if (process.argv.includes(inside)) powerTests()
else if (hasLoopDevices()) t.spawn('unshare', ['--mount', process.execPath, import.meta.filename, inside])
else t.test('power cuts', { skip: 'this machine refuses to mount loop devices' }, async () => {})

function hasLoopDevices(): boolean {
  const script =
    'd=$(mktemp -d); truncate -s 8M $d/i && mkfs.ext4 -q $d/i && mount -o loop $d/i /mnt; s=$?; rm -r $d; exit $s'
  try {
    execFileSync('unshare', ['--mount', 'sh', '-c', script], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

function powerTests(): void {
  const tried = extent({ gate: cases.filter((_, index) => index % 4 === 3), nightly: cases })
  for (const { name, before, run, after } of tried) {
    t.test(`${name} survives a power cut`, async t => {
      const folder = await mkdtemp(join(tmpdir(), 'stowage-power-'))
      const [image, left, disk, found] = ['image', 'left', 'disk', 'found'].map(name => join(folder, name)) as [
        string,
        string,
        string,
        string,
      ]
      t.teardown(() => rm(folder, { recursive: true }))
      await Promise.all([mkdir(disk), mkdir(found)])
      execFileSync('truncate', ['-s', '16M', image])
      execFileSync('mkfs.ext4', ['-q', image])
      // Only explicit syncs write to the disk.
      execFileSync('mount', ['-o', 'loop,commit=3000', image, disk])
      const open = (root: string) =>
        localAdapter({ localRoots: [root], dataFolder: '/nowhere' }).open({ root }, silentHost)
      const provider = await open(disk)
      await before?.(provider)
      execFileSync('sync', ['-f', disk])
      const result = await run(provider)
      execFileSync('cp', ['--sparse=always', image, left])
      await provider.close?.()
      execFileSync('umount', [disk])
      execFileSync('mount', ['-o', 'loop', left, found])
      const again = await open(found)
      try {
        await after(again, result)
        t.pass(name)
      } finally {
        await again.close?.()
        execFileSync('umount', [found])
      }
    })
  }
}
