/** The encryption of a new provider, as clients state it. */
import type { EncryptionSettings, NameEncoding, NameEncryption } from '../../db/schema.ts'
import { AppError } from '../../errors.ts'
import type { Encryption } from '../../storage/encryption/index.ts'

export interface EncryptionInput {
  password: string
  salt?: string | null | undefined
  names?: NameEncryption | null | undefined
  encoding?: NameEncoding | null | undefined
  encryptFolderNames?: boolean | null | undefined
  suffix?: string | null | undefined
}

/** Characters of a password and of a salt. */
export const maxSecretLength = 1024
export const usualSuffix = '.bin'
/** The word of rclone's configuration for no suffix. */
const noSuffix = 'none'
const suffixPattern = /^\.[^/\p{C}]{1,31}$/u

/** @throws INVALID_INPUT */
export function parseEncryption(input: EncryptionInput): Encryption {
  const { password } = input
  const salt = input.salt ?? ''
  if (password === '') throw new AppError('INVALID_INPUT', 'The password of the encryption is missing.')
  for (const secret of [password, salt]) {
    if (secret.length <= maxSecretLength && secret.isWellFormed()) continue
    const message = `The password and the salt of the encryption have at most ${maxSecretLength} characters of well-formed Unicode.`
    throw new AppError('INVALID_INPUT', message)
  }
  const suffix = input.suffix ?? usualSuffix
  if (suffix.toLowerCase() !== noSuffix && !suffixPattern.test(suffix)) {
    const message = `The suffix of encrypted files begins with ".", and has at most 32 characters, or is "${noSuffix}".`
    throw new AppError('INVALID_INPUT', message)
  }
  return {
    password,
    salt,
    names: input.names ?? 'STANDARD',
    encoding: input.encoding ?? 'BASE32',
    encryptFolderNames: input.encryptFolderNames ?? true,
    suffix: suffix.toLowerCase() === noSuffix ? '' : suffix,
  }
}

/** Returns what is no secret. */
export function settingsOf({ names, encoding, encryptFolderNames, suffix }: Encryption): EncryptionSettings {
  return { names, encoding, encryptFolderNames, suffix }
}
