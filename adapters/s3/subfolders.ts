import { ancestorsOf, nameOf, orAborted, parentOf, type StoragePath } from '../contract.ts'
import type { Bucket } from './bucket.ts'
import { decodeKey, type Keys } from './keys.ts'

/** Milliseconds for which the folders in a folder are remembered. */
const knownTime = 5_000
const maxKnown = 1000
/** Folders with more entries are not remembered. */
const maxEntries = 1000

interface Known {
  /** As of `performance.now()`. */
  until: number
  /** Names of folders that were made since. */
  made: Set<string>
  /** Names of folders; null for too many entries. Undefined until the second question. */
  names?: Promise<ReadonlySet<string> | null>
}

/** Tells whether a path is a folder. Many files often go into one folder, so the second of them lists the folders in it. */
export class Subfolders {
  readonly #bucket: Bucket
  readonly #keys: Keys
  readonly #known = new Map<StoragePath, Known>()

  constructor(bucket: Bucket, keys: Keys) {
    this.#bucket = bucket
    this.#keys = keys
  }

  /** Returns true where any key lies below, including the marker. */
  async exists(path: StoragePath, signal?: AbortSignal): Promise<boolean> {
    return (await this.#bucket.keys(this.#keys.folder(path), 1, signal)).length > 0
  }

  /** As `exists`, but may miss a folder that somebody else has made in the last seconds. */
  async existsForWrite(path: StoragePath, signal: AbortSignal): Promise<boolean> {
    const parent = parentOf(path)
    const known = this.#known.get(parent)
    if (!known || known.until < performance.now()) {
      if (this.#known.size >= maxKnown) this.#known.clear()
      this.#known.set(parent, { until: performance.now() + knownTime, made: new Set() })
      return await this.exists(path, signal)
    }
    known.names ??= this.#list(parent)
    const names = await orAborted(
      known.names.catch(() => null),
      signal,
    )
    const name = nameOf(path)
    // A folder may have been deleted since.
    return !names || names.has(name) || known.made.has(name) ? await this.exists(path, signal) : false
  }

  /** Call this before creating an entry, which makes a folder of everything above it. */
  noteEntry(path: StoragePath): void {
    for (const folder of ancestorsOf(path).slice(1)) this.#known.get(parentOf(folder))?.made.add(nameOf(folder))
  }

  /** Without a signal, because several writes share it. */
  async #list(path: StoragePath): Promise<ReadonlySet<string> | null> {
    const top = this.#keys.folder(path)
    const { CommonPrefixes = [], IsTruncated } = await this.#bucket.call(undefined, s3 =>
      s3.listObjectsV2({
        Bucket: this.#bucket.name,
        Prefix: top,
        Delimiter: '/',
        MaxKeys: maxEntries,
        EncodingType: 'url',
      }),
    )
    if (IsTruncated) return null
    return new Set(CommonPrefixes.map(({ Prefix = '' }) => (decodeKey(Prefix) ?? '').slice(top.length, -1)))
  }
}
