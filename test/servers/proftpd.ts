/** A real FTP server with explicit TLS: proftpd. */
import { type ChildProcess, execFileSync } from 'node:child_process'
import { randomBytes, X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { freePort } from '../support/free-port.ts'
import { certificate } from './certificate.ts'
import { startDaemon } from './daemon.ts'
import { requirePrograms } from './programs.ts'

export interface FtpServer {
  host: string
  port: number
  user: string
  password: string
  security: Security
  /** The SHA-256 fingerprint of its certificate. */
  fingerprint: string
  /** The folder on this machine that the user sees as `/`. */
  root: string
  /** Ends the server, and starts it again. */
  stop(): Promise<void>
  start(): Promise<void>
}

interface Scope {
  teardown(run: () => Promise<void>): unknown
}

type Security = 'explicit' | 'implicit' | 'none'

const tlsLines: Record<Security, string> = {
  explicit: 'TLSEngine on',
  implicit: 'TLSEngine on\nTLSOptions UseImplicitSSL',
  none: 'TLSEngine off',
}

/**
 * @param options.more lines of its configuration
 * @param options.overwrites false for a server that refuses to rename over files
 */
export async function startProftpd(
  t: Scope,
  options: { security?: Security; more?: string; overwrites?: boolean } = {},
): Promise<FtpServer> {
  const { security = 'explicit', more = '', overwrites = true } = options
  const lines = [tlsLines[security], `AllowOverwrite ${overwrites ? 'on' : 'off'}`, more]
  await requirePrograms({
    who: 'The tests of FTP',
    programs: ['proftpd', 'openssl'],
    // On Debian, a package of its own holds the module for TLS.
    files: ['/usr/lib/proftpd/mod_tls.so'],
    packages: ['proftpd-core', 'proftpd-mod-crypto', 'openssl'],
    instead: 'put proftpd on PATH',
  })
  const home = await mkdtemp(join(tmpdir(), 'stowage-proftpd-'))
  t.teardown(() => rm(home, { recursive: true, force: true }))
  const [root, port] = [join(home, 'root'), await freePort()]
  await mkdir(root)
  const { key, cert } = await certificate()
  await writeFile(join(home, 'key.pem'), key, { mode: 0o600 })
  await writeFile(join(home, 'cert.pem'), cert)
  const [user, password] = ['someone', randomBytes(9).toString('hex')]
  const hash = execFileSync('openssl', ['passwd', '-1', password]).toString().trim()
  const { uid, gid, username } = userInfo()
  await writeFile(join(home, 'passwd'), `${user}:${hash}:${uid}:${gid}::${root}:/bin/sh\n`, { mode: 0o600 })
  await writeFile(join(home, 'group'), `${username}:x:${gid}:\n`, { mode: 0o600 })
  await chmod(home, 0o755)
  await writeFile(join(home, 'proftpd.conf'), configuration({ home, root, port, more: lines.join('\n') }))

  let server: ChildProcess | undefined
  const start = async () => {
    const args = ['-n', '-c', join(home, 'proftpd.conf')]
    server = await startDaemon('proftpd', args, { port, output: join(home, 'output') })
  }
  const stop = async () => {
    if (!server || server.exitCode !== null) return
    const gone = once(server, 'exit')
    // Ends the sessions, too.
    server.kill('SIGTERM')
    await gone
  }
  t.teardown(stop)
  await start()
  const fingerprint = new X509Certificate(cert).fingerprint256
  return { host: '127.0.0.1', port, user, password, security, fingerprint, root, start, stop }
}

function configuration({ home, root, port, more }: { home: string; root: string; port: number; more: string }): string {
  const { username } = userInfo()
  return `
    LoadModule mod_tls.c
    ServerType standalone
    DefaultAddress 127.0.0.1
    UseIPv6 off
    Port ${port}
    User ${username}
    Group ${username}
    PidFile ${home}/pid
    ScoreboardFile ${home}/scoreboard
    SystemLog ${home}/log
    TransferLog none
    WtmpLog off
    UseReverseDNS off
    RequireValidShell off
    RootLogin on
    AuthOrder mod_auth_file.c
    AuthUserFile ${home}/passwd
    AuthGroupFile ${home}/group
    DefaultRoot ${root}
    Umask 022
    MaxInstances 60
      TLSRequired on
      TLSLog ${home}/tls.log
      TLSECCertificateFile ${home}/cert.pem
      TLSECCertificateKeyFile ${home}/key.pem
    ${more}
  `
}
