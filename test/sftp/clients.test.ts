/** Real clients of SFTP: OpenSSH's sftp and scp. */
import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { requirePrograms } from '../servers/programs.ts'
import { startApp } from '../support/app.ts'
import { serveSftp } from './server.ts'

const run = promisify(execFile)

t.setTimeout(300_000)

t.test('real clients', async t => {
  await requirePrograms({
    who: 'The tests of SFTP',
    programs: ['sftp', 'scp'],
    packages: ['openssh-client'],
    instead: 'put sftp and scp on PATH',
  })
  const app = await startApp(t)
  const { token } = await app.register('owner@example.com')
  const [root, work] = [join(app.folder, 'files'), join(app.folder, 'work')]
  await mkdir(root)
  await mkdir(work)
  await app.connectProvider(token, 'local', { root }, 'Files')
  const { key } = await app.createKey(token, { name: 'clients', scopes: ['write'] })
  const endpoint = await serveSftp(t, app)
  // OpenSSH asks this program for the password.
  await writeFile(join(work, 'ask'), `#!/bin/sh\necho ${key}\n`, { mode: 0o700 })
  const env = { ...process.env, HOME: work, SSH_ASKPASS: join(work, 'ask'), SSH_ASKPASS_REQUIRE: 'force' }
  const options = ['-o', 'StrictHostKeyChecking=no', '-o', `UserKnownHostsFile=${work}/hosts`, '-o', 'LogLevel=ERROR']
  const port = ['-P', String(endpoint.port)]
  const sftp = async (...commands: string[]) => {
    await writeFile(join(work, 'batch'), commands.map(command => `${command}\n`).join(''))
    return run('sftp', [...options, '-o', 'BatchMode=no', ...port, '-b', join(work, 'batch'), 'me@127.0.0.1'], {
      cwd: work,
      env,
    })
  }
  const files = Array.from(
    { length: 40 },
    (_, n) => [`tree/${n % 2 ? 'ä b' : 'c'}/file ${n}`, randomBytes(n * 100)] as const,
  )
  for (const folder of ['tree/ä b', 'tree/c']) await mkdir(join(work, folder), { recursive: true })
  for (const [name, bytes] of files) await writeFile(join(work, name), bytes)
  const large = randomBytes(20_000_000)
  await writeFile(join(work, 'large'), large)

  await t.test('sftp lists, stores, reads, renames and deletes', async t => {
    const listed = await sftp('ls /', 'ls -l /files')
    t.match(listed.stdout, /^\/?files\s*$/m)
    await sftp('cd files', 'put -R tree', 'put large', 'mkdir made', 'rename large made/large')
    for (const [name, bytes] of files) t.same(await readFile(join(root, name)), bytes, name)
    t.same(await readFile(join(root, 'made/large')), large)
    await sftp('get -R files/tree back', 'get files/made/large large-back', 'df files')
    await run('diff', ['-r', 'tree', 'back'], { cwd: work })
    t.same(await readFile(join(work, 'large-back')), large)
    await sftp('rm files/made/large', 'rmdir files/made')
    t.notOk((await readdir(root)).includes('made'))
    await t.rejects(sftp('rmdir files/tree'), /Failure/)
    await t.rejects(sftp('ln files/tree/c x'), /./)
  })

  await t.test('sftp continues an upload and a download, and keeps times', async t => {
    await writeFile(join(root, 'part'), large.subarray(0, 7_000_001))
    await writeFile(join(work, 'part'), large)
    await sftp('reput part files/part')
    t.same(await readFile(join(root, 'part')), large)
    await writeFile(join(work, 'part'), large.subarray(0, 9_000_001))
    await sftp('reget files/part part')
    t.same(await readFile(join(work, 'part')), large)
    await run('touch', ['-d', '2001-02-03T04:05:06Z', 'tree/c/file 2'], { cwd: work })
    await sftp('put -p "tree/c/file 2" files/old')
    t.equal((await stat(join(root, 'old'))).mtime.toISOString(), '2001-02-03T04:05:06.000Z')
  })

  await t.test('scp copies trees both ways', async t => {
    await run('scp', [...options, ...port, '-r', 'tree', 'me@127.0.0.1:/files/copied'], { cwd: work, env })
    await run('scp', [...options, ...port, '-r', 'me@127.0.0.1:/files/copied', 'scp-back'], { cwd: work, env })
    await run('diff', ['-r', 'tree', 'scp-back'], { cwd: work })
    await t.rejects(run('scp', [...options, '-O', ...port, 'large', 'me@127.0.0.1:/files/x'], { cwd: work, env }))
  })

  await t.test('nothing but files is served', async t => {
    const ssh = (...given: string[]) =>
      run('ssh', [...options, '-p', String(endpoint.port), ...given], { cwd: work, env })
    await t.rejects(ssh('me@127.0.0.1', 'id'), { code: 255 })
    await t.rejects(ssh('-N', '-o', 'ExitOnForwardFailure=yes', '-R', '0:127.0.0.1:1', 'me@127.0.0.1'), { code: 255 })
  })
  t.same(endpoint.faults, [])
})
