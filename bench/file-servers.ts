/** `node bench/file-servers.ts [rounds]` measures the SFTP and FTP adapters and the programs sftp and curl in turn, on real servers. */
import { execFile } from 'node:child_process'
import { copyFile, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable, Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { promisify } from 'node:util'
import { testHost } from '../adapters/conformance/index.ts'
import type { StoragePath, StorageProvider } from '../adapters/contract.ts'
import { ftpAdapter } from '../adapters/ftp/index.ts'
import { sftpAdapter } from '../adapters/sftp/index.ts'
import { startProftpd } from '../test/servers/proftpd.ts'
import { startSshd } from '../test/servers/sshd.ts'

const run = promisify(execFile)
const mib = 1024 * 1024
const bytes = 256 * mib
const rounds = Number(process.argv[2] ?? 3)
const ends: (() => Promise<unknown>)[] = []
const scope = { teardown: (end: () => Promise<void>) => ends.push(end) }
const signal = new AbortController().signal
const path = 'adapter' as StoragePath
const home = await mkdtemp(join(tmpdir(), 'stowage-bench-'))
ends.push(() => rm(home, { recursive: true, force: true }))
const local = join(home, 'local')
await writeFile(local, Buffer.alloc(bytes, 7))

/** Generates chunks like those of a socket. */
function source(): Readable {
  const chunk = Buffer.alloc(64 * 1024, 7)
  function* chunks() {
    for (let sent = 0; sent < bytes; sent += chunk.length) yield chunk
  }
  return Readable.from(chunks(), { objectMode: false })
}

const up = (provider: StorageProvider) => () => provider.write(path, source(), { signal, size: bytes, overwrite: true })
const down = (provider: StorageProvider) => async () => {
  const { body } = await provider.read(path, { signal })
  await pipeline(body, new Writable({ write: (_chunk, _encoding, done) => done() }))
}

const ssh = await startSshd(scope)
const { host, port, user, privateKey, hostKey, root } = ssh
const { passphrase } = ssh
const sftp = await sftpAdapter.open(
  { host, port, user, privateKey, passphrase, hostKey, folder: root, connections: 4 },
  testHost(),
)
// The program takes no passphrase without a terminal.
const key = join(home, 'key')
await writeFile(key, privateKey, { mode: 0o600 })
await run('ssh-keygen', ['-q', '-p', '-P', passphrase, '-N', '', '-f', key])
const program = async (command: string) => {
  const batch = join(home, 'batch')
  await writeFile(batch, `${command}\n`)
  const options = ['StrictHostKeyChecking=no', 'UserKnownHostsFile=/dev/null', 'LogLevel=ERROR']
  await run('sftp', [
    '-b',
    batch,
    '-i',
    key,
    '-P',
    `${port}`,
    ...options.flatMap(each => ['-o', each]),
    `${user}@${host}`,
  ])
}

const server = await startProftpd(scope)
const ftp = await ftpAdapter.open(
  {
    host: server.host,
    port: server.port,
    user: server.user,
    password: server.password,
    fingerprint: server.fingerprint,
    security: 'explicit',
    folder: '',
    connections: 8,
    continuesUploads: false,
  },
  testHost(),
)
const curl = (...more: string[]) =>
  run('curl', ['-sSk', '--ssl-reqd', '-u', `${server.user}:${server.password}`, ...more])
const address = `ftp://${server.host}:${server.port}/program`

const work: Record<string, () => Promise<unknown>> = {
  'sftp up': () => program(`put ${local} ${root}/program`),
  'SFTP adapter up': up(sftp),
  'sftp down': () => program(`get ${root}/program /dev/null`),
  'SFTP adapter down': down(sftp),
  'curl up (FTPS)': () => curl('-T', local, address),
  'FTP adapter up': up(ftp),
  'curl down (FTPS)': () => curl('-o', '/dev/null', address),
  'FTP adapter down': down(ftp),
}
await copyFile(local, join(root, 'program'))
const rates = new Map<string, number[]>()
for (let round = 0; round < rounds; round++) {
  for (const [name, measured] of Object.entries(work)) {
    const start = performance.now()
    await measured()
    const rate = bytes / 1000 / (performance.now() - start)
    rates.set(name, [...(rates.get(name) ?? []), rate])
  }
}
for (const [name, all] of rates) {
  const median = all.toSorted((a, b) => a - b)[Math.floor(all.length / 2)] ?? 0
  const values = all.map(each => each.toFixed(0)).join(', ')
  process.stdout.write(`${name.padEnd(20)} ${median.toFixed(0).padStart(6)} MB/s  (${values})\n`)
}
await Promise.all([sftp.close?.(), ftp.close?.()])
for (const end of ends.reverse()) await end()
