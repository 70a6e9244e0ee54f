/** Programs that people already have: rclone, restic and s3cmd. The SDK of AWS is in the other tests. */
import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { DeleteObjectCommand, ListObjectVersionsCommand, PutObjectLockConfigurationCommand } from '@aws-sdk/client-s3'
import t from 'tap'
import { requirePrograms } from '../servers/programs.ts'
import { atNight, extent } from '../support/extent.ts'
import { codeOf, createS3World } from './world.ts'

const run = promisify(execFile)
const mib = 1024 * 1024

t.test('programs that speak S3', async t => {
  await requirePrograms({
    who: 'The tests of S3 clients',
    programs: ['rclone', 'restic', 's3cmd'],
    packages: ['rclone', 'restic', 's3cmd'],
    instead: 'put rclone, restic and s3cmd on PATH',
  })
  const world = await createS3World(t, { settings: { s3Domain: 'localhost', versionCount: 20, versionDays: 30 } })
  const { app, root } = world
  const { accessKeyId, secretAccessKey } = (await world.createKey()).s3
  const home = await mkdtemp(join(tmpdir(), 'stowage-clients-'))
  t.teardown(() => rm(home, { recursive: true, force: true }))
  const { port } = new URL(app.url)
  const env = {
    PATH: process.env.PATH ?? '',
    HOME: home,
    AWS_ACCESS_KEY_ID: accessKeyId,
    AWS_SECRET_ACCESS_KEY: secretAccessKey,
    RESTIC_PASSWORD: 'only for this test',
    RESTIC_CACHE_DIR: join(home, 'cache'),
    RCLONE_CONFIG: join(home, 'rclone.conf'),
  }
  const call = async (program: string, ...args: string[]) => {
    const { stdout } = await run(program, args, { env, cwd: home, maxBuffer: 16 * mib })
    return stdout
  }
  const files: Record<string, Buffer> = {
    'plain.txt': Buffer.from('plain'),
    empty: Buffer.alloc(0),
    'a b/ü (1)+&.txt': Buffer.from('names'),
    'deep/er/still/deeper.bin': randomBytes(200_000),
    // Larger than the parts of the programs.
    'large.bin': randomBytes(extent({ gate: 6, nightly: 18 }) * mib),
  }
  for (const [name, bytes] of Object.entries(files)) {
    await mkdir(dirname(join(home, 'in', name)), { recursive: true })
    await writeFile(join(home, 'in', name), bytes)
  }
  const same = async (folder: string) => {
    for (const [name, bytes] of Object.entries(files)) {
      if (!(await readFile(join(folder, name))).equals(bytes)) return name
    }
    return 'all'
  }

  await t.test('rclone copies, checks, syncs and deletes', async t => {
    await writeFile(
      env.RCLONE_CONFIG,
      `[s]\ntype = s3\nprovider = Other\naccess_key_id = ${accessKeyId}\nsecret_access_key = ${secretAccessKey}\nendpoint = ${app.url}/s3\nregion = us-east-1\nupload_cutoff = 5M\nchunk_size = 5M\n`,
    )
    t.match(await call('rclone', 'lsd', 's:'), 'files')
    await call('rclone', 'copy', 'in', 's:files/rclone')
    t.equal(await same(join(root, 'rclone')), 'all')
    await call('rclone', 'check', '--download', 'in', 's:files/rclone')
    await call('rclone', 'copy', 's:files/rclone', 'out/rclone')
    t.equal(await same(join(home, 'out/rclone')), 'all')
    await rm(join(home, 'in/empty'))
    // Times are kept in milliseconds.
    await writeFile(join(home, 'in/added'), 'added')
    const { stderr } = await run('rclone', ['sync', '-v', '--modify-window', '1ms', 'in', 's:files/rclone'], {
      env,
      cwd: home,
    })
    t.equal(stderr.match(/: Copied/g)?.length, 1, 'only the new file is copied')
    await rm(join(home, 'in/added'))
    await call('rclone', 'sync', 'in', 's:files/rclone')
    t.notOk((await readdir(join(root, 'rclone'))).includes('empty'))
    await writeFile(join(home, 'in/empty'), '')
    await call('rclone', 'delete', 's:files/rclone')
    t.equal(await call('rclone', 'lsf', '--files-only', '-R', 's:files/rclone'), '')
  })

  await atNight(t, 'restic backs up, checks, restores and prunes', async t => {
    const repository = ['-r', `s3:http://localhost:${port}/files/restic`, '-o', 's3.bucket-lookup=path']
    await call('restic', ...repository, 'init')
    await call('restic', ...repository, 'backup', 'in')
    await call('restic', ...repository, 'check', '--read-data')
    await call('restic', ...repository, 'restore', 'latest', '--target', 'out/restic')
    t.equal(await same(join(home, 'out/restic', 'in')), 'all')
    await call('restic', ...repository, 'backup', 'in/plain.txt')
    await call('restic', ...repository, 'forget', '--keep-last', '1', '--group-by', '', '--prune')
    await call('restic', ...repository, 'check')
  })

  await atNight(t, 'rclone and restic back up into a bucket with Object Lock', async t => {
    const { s3: keys } = await world.createKey({ scopes: ['admin'] })
    const configure = new PutObjectLockConfigurationCommand({
      Bucket: 'files',
      ObjectLockConfiguration: {
        ObjectLockEnabled: 'Enabled',
        Rule: { DefaultRetention: { Mode: 'COMPLIANCE', Days: 30 } },
      },
    })
    const s3 = world.client(keys)
    await s3.send(configure)
    const versions = async (prefix: string) => {
      const page = await s3.send(new ListObjectVersionsCommand({ Bucket: 'files', Prefix: prefix }))
      return (page.Versions ?? []).map(({ Key = '', VersionId, IsLatest }) => ({ Key, VersionId, IsLatest }))
    }
    const refused = (key: { Key: string; VersionId?: string | undefined }) =>
      codeOf(s3.send(new DeleteObjectCommand({ Bucket: 'files', ...key })))

    await mkdir(join(home, 'small'))
    await writeFile(join(home, 'small/a'), 'first')
    await call('rclone', 'sync', '--modify-window', '1ms', 'small', 's:files/locked')
    await writeFile(join(home, 'small/a'), 'second one')
    await writeFile(join(home, 'small/b'), 'b')
    await call('rclone', 'sync', '--modify-window', '1ms', 'small', 's:files/locked')
    await rm(join(home, 'small/a'))
    await call('rclone', 'sync', '--modify-window', '1ms', 'small', 's:files/locked')
    t.equal(await call('rclone', 'lsf', 's:files/locked'), 'b\n', 'what it deletes is gone from the list')
    const kept = await versions('locked/')
    t.same(
      kept
        .map(({ Key }) => Key)
        .filter(key => !key.endsWith('/'))
        .sort(),
      ['locked/a', 'locked/a', 'locked/b'],
    )
    for (const { Key, VersionId } of kept) {
      if (!Key.endsWith('/')) t.equal(await refused({ Key, VersionId }), 'AccessDenied')
    }

    // restic replaces nothing, but deletes its own locks and, with `forget --prune`, its packs.
    await writeFile(join(home, 'small/c'), randomBytes(20_000))
    const repository = ['-r', `s3:http://localhost:${port}/files/locked-restic`, '-o', 's3.bucket-lookup=path']
    await call('restic', ...repository, 'init')
    await call('restic', ...repository, 'backup', 'small')
    await writeFile(join(home, 'small/c'), randomBytes(20_000))
    await call('restic', ...repository, 'backup', 'small')
    await call('restic', ...repository, 'forget', '--keep-last', '1', '--prune')
    await call('restic', ...repository, 'check', '--read-data')
    await call('restic', ...repository, 'restore', 'latest', '--target', 'out/locked')
    t.same(await readFile(join(home, 'out/locked/small/c')), await readFile(join(home, 'small/c')))
    const stored = await versions('locked-restic/data/')
    const gone = stored.filter(({ Key, IsLatest }) => !IsLatest && !Key.endsWith('/'))
    t.ok(gone.length > 0, 'pruned packs are versions')
    for (const key of gone) t.equal(await refused(key), 'AccessDenied')
  })

  await atNight(t, 's3cmd puts, lists, gets and deletes', async t => {
    const options = [
      `--access_key=${accessKeyId}`,
      `--secret_key=${secretAccessKey}`,
      `--host=localhost:${port}`,
      `--host-bucket=localhost:${port}`,
      '--no-ssl',
      '--multipart-chunk-size-mb=5',
    ]
    await call('s3cmd', ...options, 'put', '--recursive', 'in/', 's3://files/s3cmd/')
    t.equal(await same(join(root, 's3cmd')), 'all')
    t.match(
      await call('s3cmd', ...options, 'ls', '--recursive', 's3://files/s3cmd/'),
      's3://files/s3cmd/a b/ü (1)+&.txt',
    )
    await mkdir(join(home, 'out/s3cmd'))
    await call('s3cmd', ...options, 'get', '--recursive', 's3://files/s3cmd/', 'out/s3cmd/')
    t.equal(await same(join(home, 'out/s3cmd')), 'all')
    await call('s3cmd', ...options, 'del', '--recursive', '--force', 's3://files/s3cmd/')
    t.notOk((await readdir(join(root, 's3cmd'))).includes('plain.txt'))
  })
})
