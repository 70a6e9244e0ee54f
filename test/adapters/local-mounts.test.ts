/** Tests with other file systems below the root. The file runs itself again in a mount namespace. */
import { execFileSync } from 'node:child_process'
import { chmod, mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { reachesData } from '../../adapters/backends/local/config.ts'
import { localAdapter } from '../../adapters/backends/local/index.ts'
import {
  at,
  bodyOf,
  call,
  has,
  isMissing,
  makeFolder,
  namesIn,
  pattern,
  put,
  rejectsWith,
} from '../../adapters/conformance/kit.ts'
import type { StoragePath } from '../../adapters/contract.ts'
import { extent } from '../support/extent.ts'
import { recordingHost } from './host.ts'
import { openTemporary } from './temporary.ts'

const inside = '--in-namespace'
const keep = { ...call(), overwrite: false }
const replace = { ...call(), overwrite: true }

if (process.argv.includes(inside)) mountTests()
else if (hasNamespaces())
  t.spawn('unshare', ['--map-root-user', '--mount', process.execPath, import.meta.filename, inside])
else t.test('across disks', { skip: 'this machine refuses unshare --map-root-user --mount' }, async () => {})

function hasNamespaces(): boolean {
  try {
    execFileSync('unshare', ['--map-root-user', '--mount', 'mount', '-t', 'tmpfs', 'none', '/mnt'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

function mount(...options: string[]): void {
  execFileSync('mount', options)
}

function mountTests(): void {
  for (const kind of extent({ gate: ['another disk'], nightly: ['another disk', 'a bind mount of the same disk'] })) {
    t.test(`writes, copies and moves across ${kind}`, async t => {
      const { provider, root, outside } = await openTemporary(t)
      await mkdir(join(root, 'disk'))
      if (kind === 'another disk') mount('-t', 'tmpfs', 'none', join(root, 'disk'))
      else mount('--bind', outside, join(root, 'disk'))
      t.teardown(() => execFileSync('umount', [join(root, 'disk')]))

      const bytes = pattern(3_000_000)
      const written = await put(provider, 'disk/new/file', bytes)
      t.strictSame(written, await provider.stat(at('disk/new/file'), call()))
      await has(provider, 'disk/new/file', bytes)
      await rejectsWith('ALREADY_EXISTS', put(provider, 'disk/new/file', 'no'))
      await put(provider, 'disk/new/file', 'replaced', true)
      await has(provider, 'disk/new/file', 'replaced')

      await put(provider, 'file', bytes)
      await provider.copy?.(at('file'), at('disk/copied'), keep)
      await has(provider, 'disk/copied', bytes)
      await put(provider, 'folder/file', 'stays')
      for (const from of ['file', 'folder'] as const) {
        for (const options of [keep, replace]) {
          const crossing = provider.move?.(at(from), at('disk/far/moved'), options)
          await rejectsWith('NOT_IN_ONE_STEP', Promise.resolve(crossing))
        }
      }
      await has(provider, 'file', bytes)
      await has(provider, 'folder/file', 'stays')
      await isMissing(provider, 'disk/far')
      await rejectsWith('IN_USE', Promise.resolve(provider.deleteTree?.(at('disk'), call())))
      // No staging folder remains on the other disk, and a mount point is refused before anything in it is deleted.
      t.strictSame((await readdir(join(root, 'disk'))).sort(), ['copied', 'new'])
      t.strictSame(await readdir(join(root, '.stowage-staging')), [])

      await put(provider, 'disk/copied', 'private', true)
      await chmod(join(root, 'disk/copied'), 0o600)
      let kept = ''
      // A path of its own for each attempt, as the host gives it.
      const preserved = async (preserve: (to: StoragePath) => Promise<unknown>) => {
        kept += 'x'
        await preserve(at(`kept/${kept}`))
      }
      await provider.write(at('disk/copied'), bodyOf('new'), { ...replace, keep: preserved })
      await has(provider, `kept/${kept}`, 'private')
      t.equal(
        (await stat(join(root, 'kept', kept))).mode & 0o777,
        0o600,
        'an earlier version is no more readable than the file',
      )
    })
  }

  t.test("the server's own data is refused behind a bind mount", async t => {
    const { root, outside } = await openTemporary(t)
    const data = join(outside, 'app', 'data')
    for (const name of ['files', 'postgres']) await mkdir(join(data, name), { recursive: true })
    const bind = async (from: string, name: string) => {
      const to = join(root, name)
      await mkdir(to)
      mount('--bind', from, to)
      t.teardown(() => execFileSync('umount', [to]))
      return to
    }
    t.equal(await reachesData(await bind(data, 'data'), data), true)
    t.equal(await reachesData(await bind(join(outside, 'app'), 'app'), data), true)
    t.equal(await reachesData(join(root, 'app', 'data', 'postgres'), data), true)
    t.equal(await reachesData(await bind(join(data, 'files'), 'files'), data), false)
  })

  t.test('files have the same fileId behind a bind mount', async t => {
    const { provider, root, outside } = await openTemporary(t)
    await mkdir(join(root, 'mount'))
    mount('--bind', outside, join(root, 'mount'))
    t.teardown(() => execFileSync('umount', [join(root, 'mount')]))
    const other = await localAdapter({ localRoots: [outside], dataFolder: '/nowhere' }).open(
      { root: outside },
      recordingHost(),
    )
    t.teardown(async () => other.close?.())
    await put(other, 'folder/file', 'content')
    for (const path of ['', 'folder', 'folder/file']) {
      const [here, there] = [
        await provider.stat(at(path === '' ? 'mount' : `mount/${path}`), call()),
        await other.stat(at(path), call()),
      ]
      t.type(here.fileId, 'string')
      t.equal(here.fileId, there.fileId, path)
    }
  })

  t.test('a full disk is QUOTA_EXCEEDED and leaves nothing', async t => {
    const { provider, root } = await openTemporary(t)
    await mkdir(join(root, 'small'))
    mount('-t', 'tmpfs', '-o', 'size=2m', 'none', join(root, 'small'))
    t.teardown(() => execFileSync('umount', [join(root, 'small')]))
    await put(provider, 'small/fits', pattern(1_000_000))
    await put(provider, 'big', pattern(5_000_000))
    await rejectsWith('QUOTA_EXCEEDED', put(provider, 'small/made/up/big', pattern(5_000_000)))
    await rejectsWith('QUOTA_EXCEEDED', put(provider, 'small/fits', pattern(5_000_000), true))
    await rejectsWith('QUOTA_EXCEEDED', Promise.resolve(provider.copy?.(at('big'), at('small/big'), keep)))
    await has(provider, 'big', pattern(5_000_000))
    await has(provider, 'small/fits', pattern(1_000_000))
    t.strictSame(await readdir(join(root, 'small')), ['fits'])
  })

  t.test('a read-only disk can be read, and writes say that it is read-only', async t => {
    const { root, outside } = await openTemporary(t)
    await writeFile(join(outside, 'file'), 'content')
    mount('--bind', outside, root)
    mount('-o', 'remount,ro,bind', root)
    t.teardown(() => execFileSync('umount', [root]))
    const host = recordingHost()
    const provider = await localAdapter({ localRoots: [root], dataFolder: '/nowhere' }).open({ root }, host)
    t.match(host.warnings, [{ message: /read-only/ }])
    await has(provider, 'file', 'content')
    t.strictSame(await namesIn(provider, ''), ['file'])
    const changes = [
      put(provider, 'new', 'no'),
      put(provider, 'file', 'no', true),
      makeFolder(provider, 'folder'),
      provider.delete(at('file'), call()),
      provider.move?.(at('file'), at('moved'), keep),
      provider.copy?.(at('file'), at('copied'), keep),
    ]
    const refusal = { code: 'PERMISSION_DENIED', message: /read-only/ }
    await Promise.all(changes.map(change => t.rejects(Promise.resolve(change), refusal)))
    t.equal(await readFile(join(outside, 'file'), 'utf8'), 'content')
    await provider.close?.()
  })

  t.test('a disk that is unmounted is UNAVAILABLE, and nothing is written into its bare mount point', async t => {
    const { root } = await openTemporary(t)
    mount('-t', 'tmpfs', 'none', root)
    const provider = await localAdapter({ localRoots: [root], dataFolder: '/nowhere' }).open({ root }, recordingHost())
    await put(provider, 'file', 'content')
    execFileSync('umount', [root])
    await rejectsWith('UNAVAILABLE', put(provider, 'file', 'no'))
    await rejectsWith('UNAVAILABLE', provider.list(at(''), { ...call(), limit: 10 }))
    t.notOk((await readdir(root)).includes('file'))
    await provider.close?.()
  })
}
