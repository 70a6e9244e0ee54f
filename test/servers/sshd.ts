/** A real SFTP server: OpenSSH's sshd. */
import { type ChildProcess, execFile } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { freePort } from '../support/free-port.ts'
import { startDaemon } from './daemon.ts'
import { findProgram, requirePrograms } from './programs.ts'

const run = promisify(execFile)

export interface SshServer {
  host: string
  port: number
  user: string
  /** A key that the server accepts. */
  privateKey: string
  passphrase: string
  /** The fingerprint of the server's key. */
  hostKey: string
  /** A folder on this machine for the files of the test. */
  root: string
  stop(): Promise<void>
  start(): Promise<void>
}

interface Scope {
  teardown(run: () => Promise<void>): unknown
}

export async function startSshd(t: Scope): Promise<SshServer> {
  // Its own folder is rarely on the PATH of a user.
  process.env.PATH = `${process.env.PATH}:/usr/sbin`
  await requirePrograms({
    who: 'The tests of SFTP',
    programs: ['sshd', 'ssh-keygen'],
    packages: ['openssh-server', 'openssh-client'],
    instead: 'put sshd on PATH',
  })
  // The program insists on its whole path.
  const program = (await findProgram('sshd')) ?? ''
  const home = await mkdtemp(join(tmpdir(), 'stowage-sshd-'))
  t.teardown(() => rm(home, { recursive: true, force: true, maxRetries: 5 }))
  const [root, port, passphrase] = [join(home, 'root'), await freePort(), 'a passphrase']
  await mkdir(root)
  // Where it runs as root, it needs this folder.
  if (process.getuid?.() === 0) await mkdir('/run/sshd', { recursive: true })
  // One round of the key's derivation instead of 16, because the tests decrypt the key often.
  const keygen = (name: string, secret: string) =>
    run('ssh-keygen', ['-q', '-t', 'ed25519', '-a', '1', '-N', secret, '-C', 'test', '-f', join(home, name)])
  await Promise.all([keygen('host', ''), keygen('user', passphrase)])
  await writeFile(
    join(home, 'conf'),
    `
    ListenAddress 127.0.0.1
    Port ${port}
    HostKey ${home}/host
    AuthorizedKeysFile ${home}/user.pub
    PidFile none
    StrictModes no
    UsePAM no
    PermitRootLogin prohibit-password
    PasswordAuthentication no
    KbdInteractiveAuthentication no
    MaxStartups 100
    MaxSessions 100
    LogLevel ERROR
    Subsystem sftp internal-sftp
    `,
  )
  let server: ChildProcess | undefined
  const start = async () => {
    server = await startDaemon(program, ['-D', '-e', '-f', join(home, 'conf')], { port, output: join(home, 'output') })
  }
  const stop = async () => {
    if (server?.pid === undefined || server.exitCode !== null || server.signalCode !== null) return
    const gone = once(server, 'exit')
    const sessions = await processesBelow(server.pid)
    server.kill('SIGKILL')
    for (const pid of sessions) kill(pid)
    await gone
  }
  t.teardown(stop)
  await start()
  const { stdout } = await run('ssh-keygen', ['-lf', join(home, 'host.pub')])
  return {
    host: '127.0.0.1',
    port,
    user: userInfo().username,
    privateKey: await readFile(join(home, 'user'), 'utf8'),
    passphrase,
    hostKey: stdout.split(' ')[1] ?? '',
    root,
    start,
    stop,
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // The session has ended meanwhile.
  }
}

/** Returns the processes of the sessions, which outlive the server. */
async function processesBelow(pid: number): Promise<number[]> {
  const children = (await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8').catch(() => '')).trim()
  const pids = children === '' ? [] : children.split(' ').map(Number)
  return [...pids, ...(await Promise.all(pids.map(processesBelow))).flat()]
}
