/** `stowage adapter test`: in this process, and once as a program, because a start takes seconds. */
import { chmod, mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { readSettings } from '../src/settings/index.ts'
import { testAdapter } from '../src/start/adapter-test/index.ts'
import { parseAdapterTest } from '../src/start/adapter-test/request.ts'
import { startProftpd } from './servers/proftpd.ts'
import { startApache } from './servers/webdav.ts'
import { isNight } from './support/extent.ts'
import { main, runProgram, temporaryFolder } from './support/program.ts'

const adapters = new URL('../adapters', import.meta.url)

async function setUp(t: Test, config: object) {
  const folder = await temporaryFolder(t)
  const [files, configFile] = [join(folder, 'files'), join(folder, 'config.json')]
  await mkdir(files)
  await writeFile(configFile, JSON.stringify({ ...config }).replace('FILES', files))
  const environment = { STOWAGE_LOCAL_ROOTS: files, STOWAGE_DATA: join(folder, 'data') }
  /** Resolves with the lines that the program would print. */
  const run = async (...args: string[]) => {
    const request = parseAdapterTest([...args, '--config', configFile])
    if (!request) throw new Error('The arguments are wrong.')
    const lines: string[] = []
    const passes = await testAdapter(request, readSettings(environment), line => lines.push(line))
    return { passes, lines }
  }
  return { folder, files, configFile, environment, run }
}

/** Returns the names that clients see: the folder for unfinished files stays. */
async function filesIn(folder: string): Promise<string[]> {
  return (await readdir(folder)).filter(name => name !== '.stowage-staging')
}

t.test('the cases run against the back end of a configuration, which is empty afterwards', async t => {
  const { folder, files, run } = await setUp(t, { root: 'FILES' })
  const badge = join(folder, 'badge.svg')
  const { passes, lines } = await run('local', '--only', 'mkdir', '--badge', badge)
  t.ok(passes)
  t.ok(lines.length > 3)
  t.match(lines[0], /^✓ .*mkdir.* \(\d+\.\d s\)$/)
  const [, passed] = /^local passes conformance (\d+) of \1 \(\d+ skipped\)$/.exec(lines.at(-1) ?? '') ?? []
  t.ok(Number(passed) > 2, lines.join('\n'))
  t.match(await readFile(badge, 'utf8'), new RegExp(`^<svg [\\s\\S]*>${passed} of ${passed}</text>`))
  t.same(await filesIn(files), [])
})

t.test('a case that the back end cannot run is skipped, and says what it lacks', async t => {
  const { run } = await setUp(t, {})
  const { passes, lines } = await run('memory', '--only', 'faults: a back end that is down')
  t.ok(passes)
  t.match(lines, [
    /^- faults: .*: needs faults.unavailable in the harness$/,
    'memory passes conformance 0 of 0 (1 skipped)',
  ])
})

t.test('a back end with files is refused, and keeps them', async t => {
  const { files, run } = await setUp(t, { root: 'FILES' })
  await writeFile(join(files, 'mine'), 'content')
  await t.rejects(run('local'), { name: 'StartError', message: /not empty.*\{random\}/ })
  t.same(await filesIn(files), ['mine'])
})

t.test('a module of an adapter that breaks the contract fails with the reasons', async t => {
  const { folder, run } = await setUp(t, {})
  const module = join(folder, 'adapter.ts')
  await writeFile(
    module,
    `import { memoryAdapter } from '${adapters.href}/backends/memory/index.ts'
    export default { ...memoryAdapter, type: 'forgetful', async open(config, host) {
      const provider = await memoryAdapter.open(config, host)
      provider.mkdir = async () => {}
      return provider
    } }`,
  )
  const { passes, lines } = await run(module, '--only', 'mkdir')
  t.notOk(passes)
  t.match(lines.join('\n'), /^✗ mkdir makes missing parents.*\n {4}\S/m)
  t.match(lines.at(-1), /^forgetful passes conformance \d+ of \d+ /)
})

t.test('names that the back end cannot store are stated with a pattern', async t => {
  const { folder, run } = await setUp(t, {})
  const module = join(folder, 'adapter.ts')
  await writeFile(
    module,
    `import { StorageError } from '${adapters.href}/contract.ts'
    import { memoryAdapter } from '${adapters.href}/backends/memory/index.ts'
    export default { ...memoryAdapter, type: 'picky', async open(config, host) {
      const provider = await memoryAdapter.open(config, host)
      const write = provider.write.bind(provider)
      provider.write = async (path, body, options) => {
        if (!/[#~]/.test(path)) return write(path, body, options)
        body.destroy()
        throw new StorageError('INVALID_PATH', 'No such names here.')
      }
      return provider
    } }`,
  )
  const only = ['--only', 'common file names']
  t.notOk((await run(module, ...only)).passes)
  t.notOk((await run(module, ...only, '--refuses', '#')).passes, 'the pattern must match exactly the refused names')
  t.ok((await run(module, ...only, '--refuses', '[#~]')).passes)
})

t.test('a back end is opened a second time, unless it ends with its provider', async t => {
  const memory = await setUp(t, {})
  const only = ['--only', 'through another provider on the same']
  t.notOk((await memory.run('memory', ...only)).passes)
  t.match((await memory.run('memory', ...only, '--no-reopen')).lines, [/needs reopen/, /0 of 0 \(1 skipped\)/])
  const local = await setUp(t, { root: 'FILES' })
  t.match((await local.run('local', ...only)).lines.at(-1), /1 of 1 \(0 skipped\)/)
})

t.test('a folder of the back end is opened by the property that names it', async t => {
  const { run } = await setUp(t, { root: 'FILES' })
  const only = ['--only', 'opens a folder of this one']
  t.match((await run('local', ...only)).lines.at(-1), /0 of 0 \(1 skipped\)/)
  t.match((await run('local', ...only, '--folder', 'root')).lines.at(-1), /1 of 1 \(0 skipped\)/)
})

t.test('faults are simulated in front of any server', async t => {
  const apache = await startApache(t)
  await chmod(apache.root, 0o777)
  const dav = await setUp(t, { url: apache.url, user: apache.user, password: apache.password })
  const all = 'expireCredentials,rateLimit,unavailable'
  const { passes, lines } = await dav.run('webdav', '--only', 'faults:', '--faults', all)
  t.ok(passes, lines.join('\n'))
  t.match(lines.at(-1), /^webdav passes conformance 4 of 4 \(0 skipped\)$/)

  if (!isNight) return
  const { host, port, user, password, fingerprint } = await startProftpd(t)
  const ftp = await setUp(t, { host, port, user, password, fingerprint })
  const down = await ftp.run('ftp', '--only', 'faults:', '--faults', 'unavailable')
  t.ok(down.passes, down.lines.join('\n'))
  t.match(down.lines.at(-1), /^ftp passes conformance 2 of 2 \(2 skipped\)$/)
})

t.test('wrong requests say what to do', async t => {
  const { folder, run } = await setUp(t, { root: '/elsewhere' })
  await t.rejects(run('local'), { message: /STOWAGE_LOCAL_ROOTS|root/ })
  await t.rejects(run('stowage-adapter-missing'), { message: /"stowage-adapter-missing" cannot be used: Cannot find/ })
  await t.rejects(run('memory'), { message: /"root" is not a property of this type/ })
  const empty = await setUp(t, {})
  await t.rejects(empty.run('memory', '--only', 'no such case'), { message: /--only/ })
  for (const args of [
    [],
    ['local'],
    ['local', 'more', '--config', 'x'],
    ['local', '--config', 'x', '--entries', '9'],
    ['local', '--config', 'x', '--refuses', '('],
    ['local', '--config', 'x', '--faults', 'unavailable,fire'],
  ]) {
    t.equal(parseAdapterTest(args), null, args.join(' '))
  }
  const settings = readSettings({})
  const request = (configFile: string) => parseAdapterTest(['memory', '--config', configFile])
  await writeFile(join(folder, 'broken.json'), '{')
  for (const name of ['missing.json', 'broken.json']) {
    const parsed = request(join(folder, name))
    await t.rejects(async () => parsed && testAdapter(parsed, settings, () => {}), { name: 'StartError' })
  }
})

t.test('the program prints the cases and exits with 0, 1 or 2', async t => {
  const { configFile, environment } = await setUp(t, { root: 'FILES' })
  const program = (...args: string[]) =>
    runProgram({ environment, command: [process.execPath, main, 'adapter', 'test', ...args] })
  const results = await Promise.all([
    program('local', '--config', configFile, '--only', 'reading a directory'),
    program('local'),
    isNight ? program('local', '--config', '/missing.json') : null,
  ])
  t.match(results[0], { status: 0, stdout: /^✓ reading a directory is NOT_A_FILE .*\nlocal passes conformance 1 of 1/ })
  t.match(results[1], { status: 2, stderr: /^Usage: stowage/ })
  if (isNight) t.match(results[2], { status: 1, stderr: /^Stowage cannot test the adapter: .*missing\.json/ })
})
