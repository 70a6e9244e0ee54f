/** Real clients of SFTP: OpenSSH's sftp; by night also scp, lftp, curl, rclone, paramiko and sshfs. */
import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { requirePrograms } from '../servers/programs.ts'
import { atNight, extent } from '../support/extent.ts'
import { until } from '../support/until.ts'
import { startWithSftp } from './server.ts'

const run = promisify(execFile)

t.setTimeout(300_000)

t.test('real clients', async t => {
  await requirePrograms({
    who: 'The tests of SFTP',
    programs: ['sftp', 'scp', 'lftp', 'curl', 'rclone'],
    packages: ['openssh-client', 'lftp', 'curl', 'rclone'],
    instead: 'put sftp, scp, lftp, curl and rclone on PATH',
  })
  const { app, root, key, endpoint } = await startWithSftp(t)
  const work = join(app.folder, 'work')
  await mkdir(work)
  // OpenSSH asks this program for the password.
  await writeFile(join(work, 'ask'), `#!/bin/sh\necho ${key}\n`, { mode: 0o700 })
  const env = { ...process.env, HOME: work, SSH_ASKPASS: join(work, 'ask'), SSH_ASKPASS_REQUIRE: 'force' }
  const options = ['-o', 'StrictHostKeyChecking=no', '-o', `UserKnownHostsFile=${work}/hosts`, '-o', 'LogLevel=ERROR']
  const port = ['-P', String(endpoint.port)]
  const sftp = (...commands: string[]) => sftpWith([], ...commands)
  const sftpWith = async (more: string[], ...commands: string[]) => {
    await writeFile(join(work, 'batch'), commands.map(command => `${command}\n`).join(''))
    const all = [...more.flatMap(option => ['-o', option]), ...options]
    return run('sftp', [...all, '-o', 'BatchMode=no', ...port, '-b', join(work, 'batch'), 'me@127.0.0.1'], {
      cwd: work,
      env,
      maxBuffer: 64 * 1024 * 1024,
    })
  }
  const files = Array.from(
    { length: extent({ gate: 8, nightly: 40 }) },
    (_, n) => [`tree/${n % 2 ? 'ä b' : 'c'}/file ${n}`, randomBytes(n * 100)] as const,
  )
  for (const folder of ['tree/ä b', 'tree/c']) await mkdir(join(work, folder), { recursive: true })
  for (const [name, bytes] of files) await writeFile(join(work, name), bytes)
  const large = randomBytes(extent({ gate: 2_000_000, nightly: 10_000_000 }))
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

  await atNight(t, 'sftp gets AES-GCM, or the cipher that it insists on, and exchanges keys anew', async t => {
    const [gcm, ctr] = ['aes128-gcm@openssh.com', 'aes256-ctr']
    const cases = [
      [[], gcm],
      [['Ciphers=aes256-ctr,aes256-gcm@openssh.com'], 'aes256-gcm@openssh.com'],
      [[`Ciphers=${ctr}`], ctr],
      [[`Ciphers=${ctr}`, 'MACs=hmac-sha2-512'], ctr],
    ] as const
    for (const [asked, used] of cases.slice(0, extent({ gate: 1, nightly: cases.length }))) {
      const transfer = ['put large files/keys', 'get files/keys exchanged', 'rm files/keys']
      const { stderr } = await sftpWith(['LogLevel=DEBUG1', 'RekeyLimit=1M', ...asked], ...transfer)
      const ciphers = stderr.match(/(?<=kex: (?:client->server|server->client) cipher: )\S+/g) ?? []
      t.ok(ciphers.length > 10, `${ciphers.length / 2} exchanges of keys`)
      t.same([...new Set(ciphers)], [used])
      t.same(await readFile(join(work, 'exchanged')), large)
    }
  })

  await atNight(t, 'sftp continues an upload and a download, and keeps times', async t => {
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

  await atNight(t, 'scp copies trees both ways', async t => {
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

  const start = (program: string, given: readonly string[], more = {}) =>
    run(program, given, { cwd: work, env: { ...env, ...more } })
  const isSame = (folder: string) => run('diff', ['-r', 'tree', folder], { cwd: work })

  await atNight(t, 'lftp mirrors trees both ways', async t => {
    const ssh = `ssh -a -x ${options.join(' ')}`
    const commands = [
      `set sftp:connect-program "${ssh}"`,
      `open -u any,${key} sftp://127.0.0.1:${endpoint.port}`,
      'mirror -R tree files/by-lftp',
      'mirror files/by-lftp lftp-back',
      'mv files/by-lftp files/moved-by-lftp',
      'rm -r files/moved-by-lftp',
    ]
    await start('lftp', ['-c', commands.join('; ')])
    await isSame('lftp-back')
    t.notOk((await readdir(root)).some(name => name.includes('lftp')))
  })

  await atNight(t, 'curl stores, continues and reads a file', async t => {
    const url = `sftp://127.0.0.1:${endpoint.port}/files/by-curl`
    const curl = (...given: string[]) => start('curl', ['-sSf', '--insecure', '-u', `any:${key}`, ...given])
    await curl('-T', 'large', url)
    t.ok((await readFile(join(root, 'by-curl'))).equals(large))
    await writeFile(join(work, 'curl-back'), large.subarray(0, 3_000_001))
    await curl('-C', '-', '-o', 'curl-back', url)
    t.ok((await readFile(join(work, 'curl-back'))).equals(large))
    await curl('-Q', 'rename /files/by-curl /files/renamed-by-curl', '-o', 'list', url.replace('by-curl', ''))
    t.match(await readFile(join(work, 'list'), 'utf8'), /renamed-by-curl/)
  })

  await atNight(t, 'rclone copies, compares, moves and purges trees', async t => {
    const { stdout: password } = await start('rclone', ['obscure', key])
    const remote = {
      RCLONE_CONFIG_D_TYPE: 'sftp',
      RCLONE_CONFIG_D_HOST: '127.0.0.1',
      RCLONE_CONFIG_D_PORT: String(endpoint.port),
      RCLONE_CONFIG_D_USER: 'any',
      RCLONE_CONFIG_D_PASS: password.trim(),
      RCLONE_CONFIG_D_SHELL_TYPE: 'none',
    }
    const rclone = (...given: string[]) => start('rclone', given, remote)
    await rclone('copy', 'tree', 'd:files/by-rclone')
    await rclone('check', '--download', 'tree', 'd:files/by-rclone')
    const { stderr } = await rclone('sync', '-v', 'tree', 'd:files/by-rclone')
    t.notMatch(stderr, /: Copied/, 'kept times show that the files are the same')
    await rclone('move', 'd:files/by-rclone', 'd:files/moved-by-rclone')
    await isSame(join(root, 'moved-by-rclone'))
    await rclone('purge', 'd:files/moved-by-rclone')
    t.notOk((await readdir(root)).includes('moved-by-rclone'))
  })

  await atNight(t, 'paramiko reads, writes and changes files', async t => {
    // Debian's Python, which is not always the one on PATH.
    const python = '/usr/bin/python3'
    await requirePrograms({
      who: 'The test of SFTP with paramiko',
      programs: [],
      files: [python, '/usr/lib/python3/dist-packages/paramiko/__init__.py'],
      packages: ['python3', 'python3-paramiko'],
      instead: "install paramiko for Debian's python3",
    })
    const script = `
import paramiko
transport = paramiko.Transport(('127.0.0.1', ${endpoint.port}))
transport.connect(username='any', password='${key}')
sftp = paramiko.SFTPClient.from_transport(transport)
sftp.mkdir('/files/paramiko')
sftp.put('large', '/files/paramiko/large')
sftp.get('/files/paramiko/large', 'paramiko-back')
with sftp.open('/files/paramiko/text', 'w') as file: file.write('one')
with sftp.open('/files/paramiko/text', 'a') as file: file.write(' two')
with sftp.open('/files/paramiko/text', 'r+') as file:
    file.seek(4)
    file.write('TWO')
    file.seek(0)
    content = file.read()
    assert content == b'one TWO', content
sftp.posix_rename('/files/paramiko/text', '/files/paramiko/large')
assert sftp.listdir('/files/paramiko') == ['large'], sftp.listdir('/files/paramiko')
sftp.utime('/files/paramiko/large', (1000000000, 1000000000))
assert sftp.stat('/files/paramiko/large').st_mtime == 1000000000
sftp.truncate('/files/paramiko/large', 3)
assert sftp.stat('/files/paramiko/large').st_size == 3
sftp.chdir('/files/paramiko')
assert sftp.normalize('.') == '/files/paramiko'
sftp.remove('large')
sftp.chdir('/')
sftp.rmdir('/files/paramiko')
transport.close()
`
    await start(python, ['-c', script])
    t.ok((await readFile(join(work, 'paramiko-back'))).equals(large))
  })

  await atNight(t, 'sshfs mounts a storage, and programs work in it', async t => {
    await requirePrograms({
      who: 'The test of SFTP with sshfs',
      programs: ['sshfs', 'fusermount3'],
      files: ['/dev/fuse'],
      packages: ['sshfs', 'fuse3'],
      instead: 'put sshfs on PATH',
    })
    const mount = join(work, 'mount')
    await mkdir(mount)
    const given = [...options, '-p', String(endpoint.port), '-o', 'password_stdin', 'any@127.0.0.1:/files', mount]
    const mounting = start('sshfs', given)
    mounting.child.stdin?.end(`${key}\n`)
    await mounting
    t.teardown(() => run('fusermount3', ['-uz', mount]))
    // A program that starts in the mounted folder would wait for this process, which waits for its start.
    const shell = (script: string) => run('sh', ['-ec', `cd mount; ${script}`], { cwd: work })
    // sshfs does not wait until a file is closed.
    const soon = (check: () => Promise<unknown>) => until(() => check().then(found => found !== false, String))
    await shell('cp -r ../tree by-sshfs')
    await soon(() => isSame(join(root, 'by-sshfs')))
    await shell('mv by-sshfs moved-by-sshfs; rm -r moved-by-sshfs')
    await soon(async () => !(await readdir(root)).some(name => name.includes('sshfs')))
    await shell('echo one > text; echo two >> text; mv text renamed')
    await soon(async () => (await readFile(join(root, 'renamed'), 'utf8')) === 'one\ntwo\n')
    // A program goes back in a file.
    await shell(
      'cp ../large patched; printf head | dd of=patched conv=notrunc; cmp -s patched ../large && exit 1; cp patched copy',
    )
    const patched = Buffer.concat([Buffer.from('head'), large.subarray(4)])
    await soon(async () => (await readFile(join(root, 'copy'))).equals(patched))
  })

  await atNight(t, 'a folder with many entries is listed', async t => {
    const many = extent({ gate: 1500, nightly: 100_000 })
    await mkdir(join(root, 'many'))
    for (let n = 0; n < many; n += 500) {
      const names = Array.from({ length: 500 }, (_, more) => join(root, 'many', `entry-${n + more}`))
      await Promise.all(names.map(name => writeFile(name, '')))
    }
    const { stdout } = await sftp('ls -1 files/many')
    t.equal(stdout.match(/entry-/g)?.length, many)
  })

  await t.test('nothing of it is a fault of the server', async t => t.same(endpoint.faults, []))
})
