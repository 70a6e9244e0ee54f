/** Compares the bytes of a file that is copied through this server with its known content, before the copy becomes visible. */
import { createHash, type Hash } from 'node:crypto'
import { formatPath } from '../../auth/path.ts'
import { AppError } from '../../errors.ts'
import { ContentHash } from '../../storage/content-hash.ts'
import { isSameVersion } from '../../storage/content-tracker.ts'
import type { ReadLocation } from '../../storage/read-location.ts'
import { type CheckedEntry, fault } from '../../storage/validate-entry.ts'
import type { WriteLocation } from '../../storage/write-location.ts'
import { statOrNull } from './conflict.ts'

/** The checksums that can be computed here. */
const computable = ['sha256', 'sha1', 'md5'] as const

export class PassingContent {
  readonly #source: ReadLocation
  readonly #entry: CheckedEntry
  readonly #content: ContentHash
  /** The hash that the target stores, or else one that the source states. */
  readonly #hashes = new Map<string, Hash>()
  readonly #known: ReturnType<ReadLocation['known']>
  #sums: ReadonlyMap<string, string> = new Map()
  #sha256: Buffer | null = null

  /**
   * @param entry as the read of the source returned it
   * @param options.isHashed whether the SHA-256 is computed even if that makes the copy slower
   */
  constructor(
    source: ReadLocation,
    entry: CheckedEntry,
    { traits: { storedChecksum } }: WriteLocation,
    { isHashed }: { isHashed: boolean },
  ) {
    this.#content = new ContentHash({ isRequired: isHashed })
    this.#source = source
    this.#entry = entry
    if (storedChecksum) this.#hashes.set(storedChecksum, createHash(storedChecksum))
    const stated = computable.find(name => entry.checksums[name] !== undefined)
    // If the target stores a checksum, that one is compared with the source.
    if (stated && !storedChecksum) this.#hashes.set(stated, createHash(stated))
    this.#known = source.known()
    // `check` reports the error.
    this.#known.catch(() => {})
  }

  update(bytes: Uint8Array): void {
    this.#content.update(bytes)
    for (const hash of this.#hashes.values()) hash.update(bytes)
  }

  /** The computed checksums in lowercase hex. Empty until `check`. */
  get sums(): ReadonlyMap<string, string> {
    return this.#sums
  }

  /** Null until `check`, or if computing it would have taken too long. */
  get sha256(): Buffer | null {
    return this.#sha256
  }

  /** Call it after the last byte. @throws BACK_END_FAULT if bytes were changed on their way; DAMAGED if the source is damaged */
  async check(signal: AbortSignal): Promise<void> {
    this.#sums = new Map([...this.#hashes].map(([name, hash]) => [name, hash.digest('hex')]))
    this.#sha256 = this.#content.digest(this.#entry.size)
    const stated: Readonly<Record<string, string>> = this.#entry.checksums
    const wrong = [...this.#sums].filter(([name, sum]) => (stated[name] ?? sum) !== sum).map(([name]) => name)
    if (wrong.length > 0) throw fault(`bytes with another ${wrong.join(' and ')} than it has of the file`)
    const known = await this.#known
    if (!known || !this.#sha256 || known.sha256.equals(this.#sha256) || !isSameVersion(known, this.#entry)) return
    const now = await statOrNull(this.#source, signal)
    // Otherwise somebody has written to the file while it was read.
    if (!now || !isSameVersion(known, now)) return
    const message = `"${formatPath(this.#source.path)}" is damaged, so it was not copied: it has other bytes than were stored, and nothing has changed it since.`
    throw new AppError('DAMAGED', message)
  }
}
