import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { requirePrograms } from './programs.ts'

const run = promisify(execFile)

export interface Certificate {
  /** PEM. */
  key: string
  /** PEM. */
  cert: string
}

/** Makes a self-signed certificate for `storage.example` and 127.0.0.1, valid for a day. */
export async function certificate(): Promise<Certificate> {
  await requirePrograms({
    who: 'The tests of TLS',
    programs: ['openssl'],
    packages: ['openssl'],
    instead: 'put openssl on PATH',
  })
  const folder = await mkdtemp(join(tmpdir(), 'stowage-certificate-'))
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')]
  try {
    const kind = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '1']
    const names = ['-subj', '/CN=storage.example', '-addext', 'subjectAltName=DNS:storage.example,IP:127.0.0.1']
    await run('openssl', ['req', '-x509', ...kind, ...names, '-keyout', key, '-out', cert])
    return { key: await readFile(key, 'utf8'), cert: await readFile(cert, 'utf8') }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
