import { mkdir, rm, writeFile } from 'node:fs/promises'
import type { Socket } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import ssh2, { type Client, type SFTPWrapper } from 'ssh2'
import { startSshd } from '../test/servers/sshd.ts'
import { client } from '../test/support/client.ts'
import { freePort } from '../test/support/free-port.ts'
import { growth } from './growth.ts'
import { install, makeFile, makeTree } from './installation.ts'
import type { Part } from './part.ts'
import { findProgram, run } from './processes.ts'
import { interleave } from './rounds.ts'
import type { Row } from './table.ts'

const mib = 1024 * 1024
const largeBytes = 1024 * mib
const smallFiles = 2000
const smallBytes = 10_000
const readers = 64
/** Connections that one key may have. */
const readersOfKey = 32
const pieceBytes = 32 * 1024
/** Milliseconds. */
const pause = 5000

/** A server, as OpenSSH's client reaches it. */
interface SshPeer {
  port: number
  user: string
  /** Options of the client. */
  options: string[]
  /** What the client is asked for. */
  secret: string
  /** The folder that is measured. */
  root: string
}

export const sftp: Part = {
  title: 'SFTP',
  about: `OpenSSH's \`sftp\` copies 1 GiB and ${smallFiles.toLocaleString('en')} files of ${smallBytes / 1000} KB in both directions, in turn with Stowage and with the
\`internal-sftp\` of OpenSSH's sshd, from and to tmpfs, with the ciphers that the client chooses. Memory: the peak growth while ${readers} connections ask for 2 MiB of a file each and read nothing.`,
  async measure({ rounds, say }) {
    if (!(await findProgram('sshd')) || !(await findProgram('sftp'))) {
      say('SFTP is skipped: it needs sshd and sftp.')
      return []
    }
    await using stack = new AsyncDisposableStack()
    const port = await freePort()
    const installation = stack.use(await install({ STOWAGE_SFTP_ADDRESS: `127.0.0.1:${port}` }))
    const { folder, files, key, session, stowage } = installation
    const more = await client(stowage.url).createKey(session, { name: 'more', scopes: ['read'] })
    const sshd = await startSshd({ teardown: end => stack.defer(end) })
    const keyFile = join(folder, 'key')
    await writeFile(keyFile, sshd.privateKey, { mode: 0o600 })
    const peerRoot = join(folder, 'peer')
    await mkdir(peerRoot)
    const peers: Record<string, SshPeer> = {
      Stowage: { port, user: 'any', options: ['-o', 'PubkeyAuthentication=no'], secret: key, root: '/local' },
      OpenSSH: { port: sshd.port, user: sshd.user, options: ['-i', keyFile], secret: sshd.passphrase, root: peerRoot },
    }
    const local = { Stowage: files, OpenSSH: peerRoot }
    await makeFile(join(folder, 'large'), largeBytes)
    await makeTree(join(folder, 'tree'), { files: smallFiles, bytes: smallBytes })
    const rows: Row[] = []
    const measure = async (what: string, unit: string, amount: number, batch: (root: string) => string) => {
      say(`  ${what}`)
      const works = Object.entries(peers).map(([name, peer]) => {
        const work = async () => {
          for (const left of ['up', 'uptree'])
            await rm(join(local[name as 'OpenSSH'], left), { recursive: true, force: true })
          await rm(join(folder, 'down'), { recursive: true, force: true })
          return amount / (await seconds(folder, peer, batch(peer.root)))
        }
        return [name, work]
      })
      const figures: Record<string, number[]> = await interleave(rounds, Object.fromEntries(works))
      const peer = figures.OpenSSH ?? []
      rows.push({ what: `${what}: OpenSSH`, figures: peer, unit })
      rows.push({
        what: `${what}: Stowage`,
        figures: figures.Stowage ?? [],
        unit,
        against: { what: 'OpenSSH', figures: peer },
      })
    }
    for (const { root } of Object.values(peers)) {
      const peer = Object.values(peers).find(each => each.root === root)
      if (peer) await seconds(folder, peer, `put ${folder}/large ${root}/large\nput -R ${folder}/tree ${root}/tree`)
    }
    await measure('1 GiB, download', 'MB/s', largeBytes / 1e6, root => `get ${root}/large ${folder}/down`)
    await measure('1 GiB, upload', 'MB/s', largeBytes / 1e6, root => `put ${folder}/large ${root}/up`)
    await measure('small files, download', 'files/s', smallFiles, root => `get -R ${root}/tree ${folder}/down`)
    await measure('small files, upload', 'files/s', smallFiles, root => `put -R ${folder}/tree ${root}/uptree`)
    say('  memory')
    await readNothing(port, [key], 1)
    const grown = await growth(stowage, () => readNothing(port, [key, more.key], readers))
    rows.push({ what: `${readers} readers that read nothing`, figures: [grown], unit: 'MiB' })
    return rows
  },
}

/** Returns how long OpenSSH's client takes for a batch of commands. */
async function seconds(folder: string, peer: SshPeer, batch: string): Promise<number> {
  await writeFile(join(folder, 'batch'), `${batch}\n`)
  await writeFile(join(folder, 'ask'), `#!/bin/sh\necho '${peer.secret}'\n`, { mode: 0o700 })
  const env = { ...process.env, SSH_ASKPASS: join(folder, 'ask'), SSH_ASKPASS_REQUIRE: 'force' }
  const options = ['-q', '-o', 'StrictHostKeyChecking=no', '-o', 'UserKnownHostsFile=/dev/null', '-o', 'BatchMode=no']
  const start = performance.now()
  await run(
    'sftp',
    [...options, ...peer.options, '-P', String(peer.port), '-b', join(folder, 'batch'), `${peer.user}@127.0.0.1`],
    { env, maxBuffer: 64 * mib },
  )
  return (performance.now() - start) / 1000
}

/** Each connection asks for 2 MiB at once, and then reads nothing. */
async function readNothing(port: number, keys: readonly string[], count: number): Promise<void> {
  const keyOf = (reader: number) => keys[Math.floor(reader / readersOfKey)] ?? ''
  const clients = await Promise.all(Array.from({ length: count }, (_, reader) => open(port, keyOf(reader))))
  for (const { ssh, sftp: session, handle } of clients) {
    for (let position = 0; position < 2 * mib; position += pieceBytes) {
      session.read(handle, Buffer.alloc(pieceBytes), 0, pieceBytes, position, () => {})
    }
    // The requests leave first.
    setImmediate(() => (ssh as Client & { _sock: Socket })._sock.pause())
  }
  await sleep(pause)
  for (const { ssh } of clients) (ssh as Client & { _sock: Socket })._sock.destroy()
}

async function open(port: number, key: string): Promise<{ ssh: Client; sftp: SFTPWrapper; handle: Buffer }> {
  const ssh = new ssh2.Client()
  await new Promise<void>((resolve, reject) => {
    ssh.once('ready', resolve).once('error', reject)
    ssh.once('close', () => reject(new Error('The server has closed the connection')))
    ssh.connect({ host: '127.0.0.1', port, username: 'any', password: key })
  })
  ssh.on('error', () => {})
  const session = await new Promise<SFTPWrapper>((resolve, reject) =>
    ssh.sftp((error, opened) => (error ? reject(error) : resolve(opened))),
  )
  const handle = await new Promise<Buffer>((resolve, reject) =>
    session.open('/local/large', 'r', (error, opened) => (error ? reject(error) : resolve(opened))),
  )
  return { ssh, sftp: session, handle }
}
