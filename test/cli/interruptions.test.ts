/** Kills, signals and broken pipes. */
import { randomBytes } from 'node:crypto'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { type FaultProxy, faultProxy } from '../servers/fault-proxy.ts'
import { atNight, extent } from '../support/extent.ts'
import { until } from '../support/until.ts'
import { commandLine, signedIn, type World } from './command-line.ts'

// By night, each command starts a process, which takes a second.
t.setTimeout(300_000)

const mib = 1024 * 1024

/** Counts the requests that send bytes of a resumable upload, and never lets the one at `stallAt` pass. */
function countPatches(proxy: FaultProxy, stallAt: number): { count: number } {
  const patches = { count: 0 }
  proxy.fault = ({ method }) => {
    if (method !== 'PATCH') return undefined
    patches.count += 1
    return patches.count === stallAt ? 'stall' : undefined
  }
  return patches
}

/** Kills an upload of 30 MiB when its pieces of 8 and 16 MiB are stored, before its last one. */
async function killUpload(t: Test, world: World, signal: NodeJS.Signals) {
  const proxy = await faultProxy(t, world.app.url)
  const cli = await commandLine(t, { STOWAGE_URL: proxy.endpoint, STOWAGE_API_KEY: world.key })
  const content = randomBytes(30 * mib)
  await writeFile(join(cli.home, 'large.bin'), content)
  const first = countPatches(proxy, 3)
  const upload = cli.start(['cp', 'large.bin', 'Disk:/'])
  await until(() => first.count === 3 || first.count)
  upload.process.kill(signal)
  const status = await upload.exited
  return { cli, proxy, content, status }
}

t.test('the same command continues a killed upload', async t => {
  const world = await signedIn(t)
  const signals = [
    ['SIGKILL', null],
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const
  for (const [signal, expected] of extent({ gate: signals.slice(0, 1), nightly: [...signals] })) {
    const { cli, proxy, content, status } = await killUpload(t, world, signal)
    t.equal(status, expected)
    t.equal(await world.output('ls', 'Disk:/'), '', 'an unfinished upload is not visible')
    const second = countPatches(proxy, 0)
    t.match(await cli.run(['cp', 'large.bin', 'Disk:/']), { status: 0 })
    t.equal(second.count, 1, 'only the last piece is sent')
    t.ok((await readFile(join(world.diskFolder, 'large.bin'))).equals(content))
    const records = join(cli.home, '.local/state/stowage/uploads')
    t.same(await readdir(records), [], 'a finished upload is forgotten')
    t.match(await cli.run(['rm', '-y', 'Disk:/large.bin']), { status: 0 })
  }
})

atNight(t, 'a file that has changed since is uploaded from its start', async t => {
  const world = await signedIn(t)
  const { cli, proxy, content } = await killUpload(t, world, 'SIGKILL')
  const changed = Buffer.concat([Buffer.from('changed'), content.subarray(7)])
  await writeFile(join(cli.home, 'large.bin'), changed)
  const second = countPatches(proxy, 0)
  t.match(await cli.run(['cp', 'large.bin', 'Disk:/']), { status: 0 })
  t.equal(second.count, 3)
  t.ok((await readFile(join(world.diskFolder, 'large.bin'))).equals(changed))
})

atNight(t, 'an interrupted download leaves nothing', async t => {
  const world = await signedIn(t)
  await writeFile(join(world.diskFolder, 'large.bin'), randomBytes(20 * mib))
  const proxy = await faultProxy(t, world.app.url)
  const cli = await commandLine(t, { STOWAGE_URL: proxy.endpoint, STOWAGE_API_KEY: world.key })
  proxy.fault = ({ url }) => (url?.startsWith('/api/download') ? { stallAnswerAfter: 10 * mib } : undefined)
  const download = cli.start(['cp', 'Disk:/large.bin', '.'])
  const draft = async () => (await readdir(cli.home)).find(name => name.endsWith('.part'))
  await until(async () => (await draft()) !== undefined)
  download.process.kill('SIGINT')
  t.equal(await download.exited, 130)
  t.match(download.printed(), 'stowage: Interrupted.')
  t.notOk(await draft())
  t.notOk((await readdir(cli.home)).includes('large.bin'))

  // A connection that breaks is continued.
  let cuts = 0
  proxy.fault = ({ url }) => {
    if (!url?.startsWith('/api/download') || cuts >= 2) return undefined
    cuts += 1
    return { cutAnswerAfter: 5 * mib }
  }
  t.match(await cli.run(['cp', 'Disk:/large.bin', '.']), { status: 0 })
  t.equal(cuts, 2)
  const [copy, original] = await Promise.all(
    [cli.home, world.diskFolder].map(folder => readFile(join(folder, 'large.bin'))),
  )
  t.ok(copy && original?.equals(copy))
})

atNight(t, 'a command that waits for the server can be interrupted', async t => {
  const world = await signedIn(t)
  const proxy = await faultProxy(t, world.app.url)
  const cli = await commandLine(t, { STOWAGE_URL: proxy.endpoint, STOWAGE_API_KEY: world.key })
  let requests = 0
  proxy.fault = () => {
    requests += 1
    return 'stall'
  }
  const stalled = cli.start(['ls', 'Disk:/'])
  await until(() => requests > 0)
  stalled.process.kill('SIGTERM')
  t.equal(await stalled.exited, 143)
})

atNight(t, 'a closed pipe ends a command', async t => {
  const { diskFolder, start } = await signedIn(t)
  await writeFile(join(diskFolder, 'large.bin'), randomBytes(20 * mib))
  const cat = start(['cat', 'Disk:/large.bin'])
  await until(() => cat.printed() !== '')
  cat.process.stdout?.destroy()
  t.equal(await cat.exited, 141)
})
