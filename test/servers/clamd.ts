/** The real virus scanner: ClamAV's clamd, with one signature of our own, which finds the EICAR test file. */
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ScannerSettings } from '../../src/services/scans/index.ts'
import { freePort } from '../support/free-port.ts'
import { startDaemon } from './daemon.ts'
import { requirePrograms } from './programs.ts'

/** The test file that every scanner reports: https://www.eicar.org/download-anti-malware-testfile/. In two parts, so that this file is none. */
export const eicar = Buffer.from(['X5O!P%@AP[4\\PZX54(P^)7CC)7}$EICAR', '-STANDARD-ANTIVIRUS-TEST-FILE!$H+H*'].join(''))
/** The text that marks longer files as infected, whatever surrounds it. */
export const marker = Buffer.from('stowage test content that counts as malware')

/** The name of the signature of the test file. clamd adds the end. */
export const eicarSignature = 'Stowage.Eicar.UNOFFICIAL'
export const markerSignature = 'Stowage.Marker.UNOFFICIAL'

export interface Clamd {
  scanner: ScannerSettings
  port: number
  stop(): Promise<void>
  start(): Promise<void>
}

interface Scope {
  teardown(run: () => Promise<void>): unknown
}

/** @param streamMax megabytes of a stream */
export async function startClamd(t: Scope, { streamMax = 300 }: { streamMax?: number } = {}): Promise<Clamd> {
  await requirePrograms({
    who: 'The tests of the virus scanner',
    programs: ['clamd'],
    packages: ['clamav-daemon'],
    instead: 'put clamd on PATH',
  })
  const home = await mkdtemp(join(tmpdir(), 'stowage-clamd-'))
  t.teardown(() => rm(home, { recursive: true, force: true }))
  const [port, signatures] = [await freePort(), join(home, 'signatures')]
  await mkdir(signatures)
  const md5 = createHash('md5').update(eicar).digest('hex')
  await writeFile(join(signatures, 'own.hdb'), `${md5}:${eicar.length}:Stowage.Eicar\n`)
  await writeFile(join(signatures, 'own.ndb'), `Stowage.Marker:0:*:${marker.toString('hex')}\n`)
  const configuration = join(home, 'clamd.conf')
  await writeFile(configuration, lines({ home, signatures, port, streamMax }))

  let server: Awaited<ReturnType<typeof startDaemon>> | undefined
  const start = async () => {
    server = await startDaemon('clamd', ['--foreground', `--config-file=${configuration}`], {
      port,
      output: join(home, 'output'),
    })
  }
  const stop = async () => {
    if (!server || server.exitCode !== null || server.signalCode !== null) return
    const gone = once(server, 'exit')
    server.kill('SIGKILL')
    await gone
  }
  t.teardown(stop)
  await start()
  return { scanner: { address: { host: '127.0.0.1', port }, acceptsUnscanned: false }, port, stop, start }
}

function lines(options: { home: string; signatures: string; port: number; streamMax: number }): string {
  return `
Foreground yes
DatabaseDirectory ${options.signatures}
TemporaryDirectory ${options.home}
TCPSocket ${options.port}
TCPAddr 127.0.0.1
LocalSocket ${options.home}/clamd.ctl
StreamMaxLength ${options.streamMax}M
MaxFileSize ${options.streamMax}M
MaxScanSize ${options.streamMax}M
MaxThreads 2
Bytecode no
SelfCheck 0
PidFile ${options.home}/pid
`
}
