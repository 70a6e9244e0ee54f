import { chmod, mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { startSshd } from '../test/servers/sshd.ts'
import { startNginxDav } from '../test/servers/webdav.ts'
import { client } from '../test/support/client.ts'
import { type Installation, install, makeFile, makeTree } from './installation.ts'
import { jobRunner } from './jobs.ts'
import type { Part } from './part.ts'
import { findProgram, run } from './processes.ts'
import { interleave } from './rounds.ts'
import type { Row } from './table.ts'

const largeBytes = 512 * 1024 * 1024
const bytes = 10_000
const files = 1000

/** A server, and its own tool. Each method copies between the folder of the installation and the server. */
interface Contest {
  name: string
  tool: string
  providerId: string
  /** The folder of the server on this machine. */
  root: string
  up(source: string, name: string): Promise<unknown>
  down(name: string, target: string): Promise<unknown>
  upTree(source: string, name: string): Promise<unknown>
}

export const remoteStorages: Part = {
  title: 'WebDAV and SFTP storages',
  about: `A file of ${largeBytes / 1024 / 1024} MiB that curl sends through Stowage and fetches again, and a tree of ${files.toLocaleString('en')} files of ${bytes / 1000} KB
that a job copies from the local disk, to nginx with its WebDAV module and to OpenSSH's sshd. Beside them the tools of the protocols alone: \`curl\` and
\`rclone copy --transfers 16\` for WebDAV, \`sftp\` for SFTP, which flushes each file like Stowage. Seconds, so less is better.`,
  async measure({ rounds, say }) {
    const programs = ['nginx', 'sshd', 'sftp', 'curl', 'rclone']
    const found = await Promise.all(programs.map(findProgram))
    if (found.includes(null)) {
      say(`WebDAV and SFTP storages are skipped: they need ${programs.join(', ')}.`)
      return []
    }
    await using stack = new AsyncDisposableStack()
    const installation = stack.use(await install())
    const { folder, files: local } = installation
    const large = join(folder, 'large.bin')
    await makeFile(large, largeBytes)
    await makeTree(join(local, 'tree'), { files, bytes })
    // The servers store their files there, too.
    process.env.TMPDIR = folder
    const scope = { teardown: (end: () => Promise<void>) => stack.defer(end) }
    const rows: Row[] = []
    for (const contest of [await webdav(installation, scope), await sftp(installation, scope)]) {
      rows.push(...(await measure(installation, contest, large, { rounds, say })))
    }
    return rows
  },
}

async function measure(
  installation: Installation,
  { name, tool, providerId, root, up, down, upTree }: Contest,
  large: string,
  { rounds, say }: { rounds: number; say: (line: string) => void },
): Promise<Row[]> {
  const { stowage, key, folder, files: local, providerId: localId } = installation
  const fetched = join(folder, 'fetched.bin')
  const query = (path: string) => new URLSearchParams({ providerId, path })
  const curl = (...args: string[]) =>
    run('curl', ['-sSf', '-H', `Authorization: Bearer ${key}`, '-H', 'Expect:', ...args])
  const job = jobRunner(installation)
  let turn = 0
  const tree = async (work: (target: string) => Promise<unknown>) => {
    const target = `tree-${turn++}`
    await mkdir(join(root, target), { mode: 0o777 })
    await chmod(join(root, target), 0o777)
    const figure = await seconds(() => work(target))
    await rm(join(root, target), { recursive: true })
    return figure
  }
  const works = {
    upload: {
      [tool]: () => seconds(() => up(large, 'by-tool.bin')),
      Stowage: () =>
        seconds(() =>
          curl(
            '-o',
            '/dev/null',
            '-T',
            large,
            '-X',
            'POST',
            `${stowage.url}/api/upload/proxy?${query('/by-stowage.bin')}&conflict=replace`,
          ),
        ),
    },
    download: {
      [tool]: () => seconds(() => down('by-tool.bin', fetched)),
      Stowage: () =>
        seconds(() => curl('-o', fetched, `${stowage.url}/api/download/proxy?${query('/by-stowage.bin')}`)),
    },
    'tree of small files': {
      [name === 'WebDAV' ? 'rclone' : tool]: () => tree(target => upTree(join(local, 'tree'), target)),
      Stowage: () => tree(target => job({ providerId: localId, path: '/tree' }, { providerId, path: `/${target}` })),
    },
  }
  const rows: Row[] = []
  for (const [what, contestants] of Object.entries(works)) {
    say(`  ${name}: ${what}`)
    const figures: Record<string, number[]> = await interleave(rounds, contestants)
    const [rival = ''] = Object.keys(contestants)
    const against = { what: rival, figures: figures[rival] ?? [] }
    rows.push({ what: `${name}, ${what}: ${rival}`, figures: figures[rival] ?? [], unit: 's' })
    rows.push({ what: `${name}, ${what}: Stowage`, figures: figures.Stowage ?? [], unit: 's', against })
  }
  return rows
}

type Scope = Parameters<typeof startSshd>[0]

async function webdav({ stowage, session }: Installation, scope: Scope): Promise<Contest> {
  const { url, root } = await startNginxDav(scope)
  const providerId = await client(stowage.url).connectProvider(session, 'webdav', { url })
  const env = { PATH: process.env.PATH, RCLONE_CONFIG_DAV_TYPE: 'webdav', RCLONE_CONFIG_DAV_URL: url }
  return {
    name: 'WebDAV',
    tool: 'curl',
    providerId,
    root,
    up: (source, name) => run('curl', ['-sSf', '-H', 'Expect:', '-T', source, `${url}${name}`]),
    down: (name, target) => run('curl', ['-sSf', '-o', target, `${url}${name}`]),
    upTree: (source, name) =>
      run('rclone', ['copy', '--config', '', '--transfers', '16', source, `dav:${name}/tree`], { env }),
  }
}

async function sftp({ stowage, session, folder }: Installation, scope: Scope): Promise<Contest> {
  const { host, port, user, privateKey, passphrase, hostKey, root } = await startSshd(scope)
  const config = { host, port, user, privateKey, passphrase, hostKey, folder: root }
  const providerId = await client(stowage.url).connectProvider(session, 'sftp', config)
  const identity = join(folder, 'identity')
  await writeFile(identity, privateKey, { mode: 0o600 })
  await run('ssh-keygen', ['-q', '-p', '-P', passphrase, '-N', '', '-f', identity])
  const batch = join(folder, 'batch')
  const options = ['StrictHostKeyChecking=no', 'UserKnownHostsFile=/dev/null', 'LogLevel=ERROR', 'IdentitiesOnly=yes']
  const batched = async (command: string) => {
    await writeFile(batch, `${command}\n`)
    const settings = options.flatMap(option => ['-o', option])
    await run('sftp', ['-q', '-b', batch, '-i', identity, '-P', String(port), ...settings, `${user}@${host}`])
  }
  return {
    name: 'SFTP',
    tool: 'sftp',
    providerId,
    root,
    up: (source, name) => batched(`put -f ${source} ${join(root, name)}`),
    down: (name, target) => batched(`get ${join(root, name)} ${target}`),
    upTree: (source, name) => batched(`put -f -R ${source} ${join(root, name)}`),
  }
}

async function seconds(work: () => Promise<unknown>): Promise<number> {
  const from = performance.now()
  await work()
  return (performance.now() - from) / 1000
}
