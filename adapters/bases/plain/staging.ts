/** Unfinished writes: they go to a folder that no listing shows, and are renamed when they are whole. */
import { randomUUID } from 'node:crypto'
import { type Call, childOf, orAborted, StorageError, type StoragePath, segmentsOf } from '../../contract.ts'
import { ifRefused } from './errors.ts'
import type { Facts, PlainFiles, StoreOptions } from './files.ts'
import type { Source } from './source.ts'

export const stagingName = '.stowage-staging'
export const stagingFolder = stagingName as StoragePath
/** Milliseconds: a day, longer than any write. */
const maxAge = 24 * 60 * 60 * 1000
/** Milliseconds: longer than any resumable upload, which the host usually aborts earlier. */
const maxUploadAge = 8 * maxAge
/** Begins the names of resumable uploads. */
export const uploadPrefix = 'upload-'
/** Begins the names of files that are being replaced: see `replaceByRenames`. */
export const replacedPrefix = 'replaced-'
/** Milliseconds to make the folder. */
const makeTime = 30_000
/** Milliseconds to remove an unfinished write after a failure. */
const cleanTime = 4_000

/** Returns whether a server that ignores the case of letters takes two names for one. */
export function isSameName(a: string, b: string): boolean {
  // Some letters are equal only as capitals, such as "s" and the long "ſ".
  return a.toUpperCase().toLowerCase() === b.toUpperCase().toLowerCase()
}

export function isReserved(name: string): boolean {
  return isSameName(name, stagingName)
}

/** @throws INVALID_PATH for a path in the staging folder of this provider, or of another one in it */
export function refuseStaging(path: StoragePath): void {
  if (!segmentsOf(path).some(isReserved)) return
  throw new StorageError('INVALID_PATH', `The name "${stagingName}" is reserved: choose another one.`)
}

/** Returns the path of an unfinished write. */
export function stagedAt(name: string): StoragePath {
  return childOf(stagingFolder, name)
}

export class Staging {
  readonly #files: PlainFiles
  #made: Promise<void> | undefined

  constructor(files: PlainFiles) {
    this.#files = files
  }

  /** Stores a whole body. @throws UNAVAILABLE where the server stored another size */
  async store(source: Source, options: StoreOptions): Promise<StoragePath> {
    return await this.fill(options, randomUUID(), async path => {
      await this.#files.store(path, source.stream, options)
      await this.check(path, source.sent, options)
    })
  }

  /** @throws UNAVAILABLE where an unfinished write has another size */
  async check(path: StoragePath, size: number, { signal }: Call): Promise<void> {
    const stored = await this.#files.find(path, { signal })
    if (stored?.size === size) return
    throw new StorageError('UNAVAILABLE', `The server stored ${stored?.size ?? 'none'} of ${size} bytes: try again.`)
  }

  /** Resolves with the path of an unfinished write, once `work` has stored it there. */
  async fill(call: Call, name: string, work: (path: StoragePath) => Promise<unknown>): Promise<StoragePath> {
    const path = stagedAt(name)
    try {
      await this.inFolder(call, () => work(path))
      return path
    } catch (error) {
      await this.discard(path)
      throw error
    }
  }

  /** Makes the staging folder if it is missing, then runs `work`. */
  async inFolder({ signal }: Call, work: () => Promise<unknown>): Promise<void> {
    try {
      // All writes share this call, so none of them aborts it.
      this.#made ??= this.#files
        .makeFolder(stagingFolder, { signal: AbortSignal.timeout(makeTime) })
        .catch(ifRefused(undefined))
      await orAborted(this.#made, signal)
      await work()
    } catch (error) {
      // Another program may have removed the folder.
      this.#made = undefined
      throw error
    }
  }

  /** Removes an unfinished write. One that stays is removed when a provider is opened a day later. */
  async discard(path: StoragePath): Promise<void> {
    await this.#files.removeFile(path, { signal: AbortSignal.timeout(cleanTime) }).catch(() => {})
  }

  /** Removes the unfinished writes that killed servers left. */
  async sweep(call: Call): Promise<void> {
    const left = await this.#files.list(stagingFolder, call).catch(ifRefused([]))
    for (const { name } of left.filter(isLeftover)) await this.#files.removeFile(stagedAt(name), call).catch(() => {})
  }
}

function isLeftover({ name, modifiedAt }: Facts & { name: string }): boolean {
  // This file may be the only copy of its content. Its time is that of the content, not of the rename.
  if (name.startsWith(replacedPrefix)) return false
  const limit = name.startsWith(uploadPrefix) ? maxUploadAge : maxAge
  return modifiedAt !== null && Date.now() - modifiedAt.getTime() > limit
}
