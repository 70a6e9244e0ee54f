/** Parses public keys of SSH, and verifies signatures with them. The library is loaded when the first key needs it. */
import { hash } from 'node:crypto'
import { AppError } from '../../errors.ts'

/** The types of keys. RSA signs with SHA-2 only. Certificates are not supported: see docs/decisions/012-ssh-certificates.md. */
const types: ReadonlySet<string> = new Set([
  'ssh-ed25519',
  'ecdsa-sha2-nistp256',
  'ecdsa-sha2-nistp384',
  'ecdsa-sha2-nistp521',
  'ssh-rsa',
])
const minRsaBytes = 256
/** Characters of a line. */
const maxText = 4000

/** Returns the key of a line of an `.pub` file, as SSH sends it. @throws INVALID_INPUT */
export async function parsePublicKey(text: string): Promise<Buffer> {
  const line = text.trim()
  if (line.includes('PRIVATE KEY')) {
    throw new AppError(
      'INVALID_INPUT',
      'This is a private key, which must stay with you: give the content of its ".pub" file.',
    )
  }
  const [type = '', encoded = ''] = line.split(/\s+/, 2)
  const { utils } = (await import('ssh2')).default
  const parsed = line.length <= maxText && types.has(type) ? utils.parseKey(`${type} ${encoded}`) : null
  if (!parsed || parsed instanceof Error) {
    throw new AppError('INVALID_INPUT', 'A public key is a line such as "ssh-ed25519 AAAA...": Ed25519, ECDSA or RSA.')
  }
  const key = parsed.getPublicSSH()
  if (type === 'ssh-rsa' && modulusBytes(key) < minRsaBytes) {
    throw new AppError('INVALID_INPUT', 'An RSA key has at least 2,048 bits: make one with "ssh-keygen -t ed25519".')
  }
  return key
}

/** Returns whether the holder of a key has signed. @param algorithm the hash that the client names; undefined for the one of the type */
export async function verifySignature(
  key: Buffer,
  { blob, signature, algorithm }: { blob: Buffer; signature: Buffer; algorithm: string | undefined },
): Promise<boolean> {
  const { utils } = (await import('ssh2')).default
  const parsed = utils.parseKey(key)
  if (parsed instanceof Error || !types.has(parsed.type)) return false
  // Without a hash, RSA signs with SHA-1.
  if (parsed.type === 'ssh-rsa' && algorithm === undefined) return false
  return parsed.verify(blob, signature, algorithm) === true
}

/** Returns what OpenSSH shows of a key. @param publicKey as SSH sends it */
export function fingerprintOf(publicKey: Buffer): string {
  return `SHA256:${hash('sha256', publicKey, 'base64').replaceAll('=', '')}`
}

/** The modulus is the third field, with a zero before it. */
function modulusBytes(key: Buffer): number {
  let at = 0
  for (let field = 0; field < 2; field += 1) at += 4 + key.readUInt32BE(at)
  return key.readUInt32BE(at) - 1
}
