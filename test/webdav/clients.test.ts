/** Real WebDAV clients: litmus with all of its suites, rclone, cadaver, curl and git. */
import { execFile, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { promisify } from 'node:util'
import t from 'tap'
import { requirePrograms } from '../servers/programs.ts'
import { startApp } from '../support/app.ts'
import { atNight } from '../support/extent.ts'

const run = promisify(execFile)
const suites = ['basic', 'copymove', 'props', 'locks', 'http']

t.setTimeout(300_000)

t.test('real clients', async t => {
  await requirePrograms({
    who: 'The tests of WebDAV',
    programs: ['litmus', 'cadaver', 'rclone', 'curl', 'git'],
    packages: ['litmus', 'cadaver', 'rclone', 'curl', 'git'],
    instead: 'put them on PATH',
  })
  const app = await startApp(t)
  const { token } = await app.register('owner@example.com')
  const [root, work] = [join(app.folder, 'files'), join(app.folder, 'work')]
  await mkdir(root)
  await mkdir(work)
  await app.connectProvider(token, 'local', { root }, 'Files')
  const { key } = await app.createKey(token, { name: 'clients', scopes: ['write'] })
  const url = `${app.url}/dav/files`
  const env = { ...process.env, HOME: work, TESTS: suites.join(' ') }
  const start = (program: string, ...given: string[]) => run(program, given, { cwd: work, env })

  await t.test('litmus passes without a warning', async t => {
    const { stdout } = await start('litmus', '-k', `${url}/`, 'anyone', key).catch(error => error)
    for (const suite of suites) {
      t.match(stdout, new RegExp(`summary for \`${suite}': of \\d+ tests run: \\d+ passed, 0 failed`), suite)
    }
    const lines = stdout.replaceAll('\r', '\n').split('\n')
    t.same(
      lines.filter((line: string) => /WARNING|FAIL/.test(line)),
      [],
    )
  })

  await atNight(t, 'rclone copies, checks, syncs and moves trees', async t => {
    const { stdout: password } = await start('rclone', 'obscure', key)
    const remote = { RCLONE_CONFIG_D_TYPE: 'webdav', RCLONE_CONFIG_D_URL: url, RCLONE_CONFIG_D_VENDOR: 'owncloud' }
    const settings = { ...env, ...remote, RCLONE_CONFIG_D_USER: 'x', RCLONE_CONFIG_D_PASS: password.trim() }
    const rclone = (...given: string[]) => run('rclone', given, { cwd: work, env: settings })
    for (const folder of ['tree/a/ä b', 'tree/c']) await mkdir(join(work, folder), { recursive: true })
    const files = Array.from({ length: 60 }, (_, n) => `tree/${n % 2 ? 'a/ä b' : 'c'}/file ${n} & %20.bin`)
    for (const file of files) await writeFile(join(work, file), randomBytes(1000))
    await writeFile(join(work, 'tree/large'), randomBytes(3_000_000))
    await rclone('copy', 'tree', 'd:tree')
    await rclone('check', '--download', 'tree', 'd:tree')
    await writeFile(join(work, 'tree/c/added'), 'added')
    const { stderr } = await rclone('sync', '-v', 'tree', 'd:tree')
    t.match(stderr, /added: Copied \(new\)/)
    t.equal(stderr.match(/: Copied/g)?.length, 1, 'kept times show which files are the same')
    await rclone('move', 'd:tree', 'd:moved')
    await rclone('check', '--download', 'tree', 'd:moved')
    t.notOk((await readdir(root)).includes('tree') && (await readdir(join(root, 'tree/c'))).length > 0)
    await rclone('copy', 'd:moved', 'back')
    await run('diff', ['-r', 'tree', 'back'], { cwd: work })
    t.match((await rclone('about', 'd:')).stdout, /Free:/)
    await rclone('purge', 'd:moved')
    t.notOk((await readdir(root)).includes('moved'))
  })

  await atNight(t, 'cadaver locks, edits properties and moves', async t => {
    await writeFile(join(work, '.netrc'), `machine 127.0.0.1 login any password ${key}\n`, { mode: 0o600 })
    await writeFile(join(work, 'note'), 'a note')
    const commands = ['mkcol cad', 'cd cad', 'put note', 'lock note', 'propset note colour red', 'propget note colour']
    const more = ['copy note copy', 'move copy moved', 'unlock note', 'delete note', 'ls', 'quit']
    const cadaver = spawn('cadaver', [`${url}/`], { cwd: work, env })
    const output = text(cadaver.stdout)
    cadaver.stdin.end([...commands, ...more, ''].join('\n'))
    t.match(await output, /Value of colour is: red/)
    t.notMatch(await output, /failed/)
    t.same(await readdir(join(root, 'cad')), ['moved'])
    t.equal(await readFile(join(root, 'cad/moved'), 'utf8'), 'a note')
  })

  await t.test('curl uploads from a pipe and resumes downloads', async t => {
    const auth = ['-sS', '--fail', '-u', `any:${key}`]
    const curl = spawn('curl', [...auth, '-T', '-', `${url}/piped`], { cwd: work })
    curl.stdin.end('from a pipe')
    await text(curl.stdout)
    t.equal(await readFile(join(root, 'piped'), 'utf8'), 'from a pipe')
    await writeFile(join(work, 'part'), 'from')
    await start('curl', ...auth, '-C', '-', '-o', 'part', `${url}/piped`)
    t.equal(await readFile(join(work, 'part'), 'utf8'), 'from a pipe')
  })

  await atNight(t, 'git clones from a repository that is only files, and pushes to it', async t => {
    const git = (...given: string[]) =>
      start('git', '-c', 'user.name=a', '-c', 'user.email=a@example.org', '-c', 'init.defaultBranch=main', ...given)
    await git('init', '-q', '--bare', join(root, 'repository.git'))
    await git('-C', join(root, 'repository.git'), 'update-server-info')
    const address = url.replace('://', `://any:${key}@`)
    await git('clone', '-q', `${address}/repository.git/`, 'cloned')
    await writeFile(join(work, 'cloned/file'), 'content')
    await git('-C', 'cloned', 'add', 'file')
    await git('-C', 'cloned', 'commit', '-q', '-m', 'One file')
    await git('-C', 'cloned', 'push', '-q', 'origin', 'HEAD:refs/heads/main')
    const { stdout } = await git('-C', join(root, 'repository.git'), 'log', '--format=%s', 'main')
    t.equal(stdout.trim(), 'One file')
    await git('-C', join(root, 'repository.git'), 'update-server-info')
    await git('clone', '-q', '-b', 'main', `${address}/repository.git/`, 'again')
    t.equal(await readFile(join(work, 'again/file'), 'utf8'), 'content')
  })

  t.notMatch(app.logged(), /"level":50/)
})
