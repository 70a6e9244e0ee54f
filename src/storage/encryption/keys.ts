/** The settings of an encrypted storage, and the keys that its password makes: the same as those of rclone's crypt. */
import { scrypt } from 'node:crypto'
import { promisify } from 'node:util'

export interface EncryptionSecrets {
  password: string
  /** Empty for the salt of rclone, which is public. */
  salt: string
}

export interface EncryptionKeys {
  /** 32 bytes: encrypts the content of files. */
  content: Buffer
  /** 32 bytes: encrypts names. */
  names: Buffer
  /** 16 bytes: the tweak of names. */
  tweak: Buffer
}

const publicSalt = Buffer.from('a80df43a8fbd0308a7cab83e581f86b1', 'hex')
const lengths = { content: 32, names: 32, tweak: 16 }
/** Bytes that scrypt uses: 128 * N * r, and some more. */
const cost = { N: 16_384, r: 8, p: 1, maxmem: 64 * 1024 * 1024 }
const derive: (password: Buffer, salt: Buffer, length: number, options: typeof cost) => Promise<Buffer> =
  promisify(scrypt)

/** Takes 50 ms of a thread. */
export async function deriveKeys({ password, salt }: EncryptionSecrets): Promise<EncryptionKeys> {
  const { content, names, tweak } = lengths
  const saltBytes = salt === '' ? publicSalt : Buffer.from(salt)
  const bytes = await derive(Buffer.from(password), saltBytes, content + names + tweak, cost)
  return {
    content: bytes.subarray(0, content),
    names: bytes.subarray(content, content + names),
    tweak: bytes.subarray(content + names),
  }
}
