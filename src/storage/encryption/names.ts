/**
 * The stored names of an encrypted storage. Each name is encrypted by itself and always in the same way, so a path can be found without
 * a list, and a folder can be moved without touching what is in it.
 */
import {
  joinSegments,
  nameOf,
  parentOf,
  StorageError,
  type StoragePath,
  segmentsOf,
} from '../../../adapters/contract.ts'
import { isName, maxPathBytes } from '../../auth/path.ts'
import type { EncryptionSettings } from '../../db/schema.ts'
import { Eme } from './eme.ts'
import type { EncryptionKeys } from './keys.ts'
import { nameEncodings, type TextEncoding } from './name-encodings.ts'

export type EntryKind = 'file' | 'directory'

const blockSize = 16
/** Bytes of the longest name before its padding. */
const maxNameBytes = 2048 - 1

export class NameCipher {
  readonly #settings: EncryptionSettings
  readonly #eme: Eme
  readonly #encoding: TextEncoding

  constructor(keys: Pick<EncryptionKeys, 'names' | 'tweak'>, settings: EncryptionSettings) {
    this.#settings = settings
    this.#eme = new Eme(keys.names, keys.tweak)
    this.#encoding = nameEncodings[settings.encoding]
  }

  /** Returns the stored path. The parents are those of a folder. @throws INVALID_PATH if it is too long */
  toStored(path: StoragePath, kind: EntryKind): StoragePath {
    if (path === '') return path
    const parents = segmentsOf(parentOf(path)).map(name => this.storedName(name, 'directory'))
    const stored = joinSegments([...parents, this.storedName(nameOf(path), kind)])
    if (Buffer.byteLength(stored) <= maxPathBytes) return stored
    throw new StorageError('INVALID_PATH', `Encrypted, the path is longer than ${maxPathBytes} bytes: shorten it.`)
  }

  /** @throws INVALID_PATH if it is too long */
  storedName(name: string, kind: EntryKind): string {
    const { names, encryptFolderNames, suffix } = this.#settings
    if (names === 'OFF') return kind === 'file' ? `${name}${suffix}` : name
    if (kind === 'file') return withoutVersion(name, plain => this.#encrypt(plain))
    return encryptFolderNames ? this.#encrypt(name) : name
  }

  /** Returns the path of a stored one, or null if it is not one of this storage. */
  fromStored(stored: StoragePath, kind: EntryKind): StoragePath | null {
    if (stored === '') return stored
    const parents = segmentsOf(parentOf(stored)).map(name => this.plainName(name, 'directory'))
    const names = [...parents, this.plainName(nameOf(stored), kind)]
    return names.every(name => name !== null) ? joinSegments(names) : null
  }

  /** Returns the name of a stored one, or null if it is not one of this storage. */
  plainName(stored: string, kind: EntryKind): string | null {
    const name = this.#plainName(stored, kind)
    if (name === null || !isName(name)) return null
    // A name that looks like a version only after it is decrypted would be stored under another name.
    return versionPattern.test(splitExtension(name)[0]) && this.storedName(name, kind) !== stored ? null : name
  }

  #plainName(stored: string, kind: EntryKind): string | null {
    const { names, encryptFolderNames, suffix } = this.#settings
    if (names === 'OFF') {
      if (kind === 'directory') return stored
      return stored.endsWith(suffix) ? stored.slice(0, stored.length - suffix.length) : null
    }
    if (kind === 'file') return withoutVersion(stored, text => this.#decrypt(text))
    return encryptFolderNames ? this.#decrypt(stored) : stored
  }

  #encrypt(name: string): string {
    if (name === '') return ''
    const bytes = Buffer.from(name)
    if (bytes.length > maxNameBytes) throw new StorageError('INVALID_PATH', 'The name is too long: shorten it.')
    // PKCS #7: each byte of the padding is its length.
    const padding = blockSize - (bytes.length % blockSize)
    return this.#encoding.encode(this.#eme.encrypt(Buffer.concat([bytes, Buffer.alloc(padding, padding)])))
  }

  #decrypt(stored: string): string | null {
    if (stored === '') return ''
    const bytes = this.#encoding.decode(stored)
    if (!bytes || bytes.length === 0 || bytes.length % blockSize !== 0 || bytes.length > maxNameBytes + 1) return null
    // Another spelling of the same name, such as one in capitals, would be a second entry that nobody could open.
    if (this.#encoding.encode(bytes) !== stored) return null
    const padded = this.#eme.decrypt(bytes)
    const padding = padded.at(-1) ?? 0
    if (padding === 0 || padding > blockSize) return null
    const end = padded.length - padding
    if (padded.subarray(end).some(byte => byte !== padding)) return null
    const name = padded.subarray(0, end)
    const text = name.toString()
    return Buffer.from(text).equals(name) ? text : null
  }
}

/** The text that rclone's `--b2-versions` and `--s3-versions` add before the extension, with a time to the millisecond. */
const versionPattern = /-v(\d{4})-(\d\d)-(\d\d)-(\d\d)(\d\d)(\d\d)-\d{3}$/

/**
 * Converts the name of a file without the text of a version, which rclone leaves readable.
 * @param convert returns null for a name that is none
 */
function withoutVersion<Name extends string | null>(name: string, convert: (plain: string) => Name): string | Name {
  const [base, extension] = splitExtension(name)
  const found = versionPattern.exec(base)
  if (!found || !isTime(found.slice(1).map(Number))) return convert(name)
  const [version] = found
  const converted = convert(`${base.slice(0, -version.length)}${extension}`)
  if (converted === null) return converted
  const [newBase, newExtension] = splitExtension(converted)
  return `${newBase}${version}${newExtension}`
}

function splitExtension(name: string): [base: string, extension: string] {
  const dot = name.lastIndexOf('.')
  return dot < 0 ? [name, ''] : [name.slice(0, dot), name.slice(dot)]
}

/** Returns whether there is such a day and time of day. */
function isTime([year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0]: readonly number[]): boolean {
  const lastDay = new Date(Date.UTC(2000 + (year % 400), month, 0)).getUTCDate()
  return month >= 1 && month <= 12 && day >= 1 && day <= lastDay && hour < 24 && minute < 60 && second < 60
}
