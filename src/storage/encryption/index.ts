/**
 * Encrypted storages, in the format of rclone's crypt. It takes the provider of a back end with settings and secrets, and returns
 * a provider that encrypts each file when it is written, and decrypts it when it is read.
 */
import type { Call, StorageProvider } from '../../../adapters/contract.ts'
import { root } from '../../auth/path.ts'
import type { EncryptionSettings } from '../../db/schema.ts'
import { AppError } from '../../errors.ts'
import { deriveKeys, type EncryptionSecrets } from './keys.ts'
import { encryptedProvider } from './provider.ts'
import { loadSecretbox } from './secretbox.ts'

export type { EncryptionSecrets } from './keys.ts'

/** Settings and secrets. */
export type Encryption = EncryptionSettings & EncryptionSecrets

/** Returns a provider that stores everything encrypted at the given one. */
export async function withEncryption(
  backEnd: StorageProvider,
  { password, salt, ...settings }: Encryption,
  warn: (message: string) => void,
): Promise<StorageProvider> {
  const [keys, box] = await Promise.all([deriveKeys({ password, salt }), loadSecretbox()])
  return encryptedProvider(backEnd, { keys, settings, box, warn })
}

/** Entries of the root that are looked at. */
const limit = 1000

/**
 * Refuses a password and settings that do not fit what is there: they may have been mistyped. An empty folder fits all.
 * @throws INVALID_CONFIG
 */
export async function requireDecryptable(
  backEnd: StorageProvider,
  provider: StorageProvider,
  call: Call,
): Promise<void> {
  const stored = await backEnd.list(root, { ...call, limit })
  const { entries } = await provider.list(root, { ...call, limit })
  if (stored.entries.length > 0 && entries.length === 0) throw unfitting()
  const file = entries.find(({ kind, size }) => kind === 'file' && size !== 0)
  if (!file) return
  const path = file.name as typeof root
  const { body } = await provider.read(path, { ...call, range: { offset: 0, length: 1 } }).catch(error => {
    throw error instanceof AppError && error.reason === 'DAMAGED' ? unfitting(error) : error
  })
  body.on('error', () => {}).destroy()
}

function unfitting(cause?: unknown): AppError {
  const message =
    'The folder is not empty, and this password with these settings does not decrypt what is in it: correct them, or choose an empty folder.'
  return new AppError('INVALID_CONFIG', message, { cause, facts: { properties: ['encryption'] } })
}
