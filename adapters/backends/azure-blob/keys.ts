import { controlCharacters } from '../../bases/cloud/names.ts'
import { StorageError, type StoragePath, segmentsOf, type Traits } from '../../contract.ts'

/** UTF-16 code units: https://learn.microsoft.com/rest/api/storageservices/naming-and-referencing-containers--blobs--and-metadata */
const maxKeyLength = 1024
/** The maximum number of names in a path, with and without a hierarchical namespace. */
const maxDepth = { flat: 254, hierarchical: 60 }
/** Blobs whose parts are not yet joined to a file: see staging.ts. */
const stagingPrefix = '.stowage-upload-'

/** Maps the paths of a provider to the names of blobs in its container. */
export class Keys {
  /** Empty, or ending in `/`. */
  readonly base: string
  readonly #maxDepth: number

  constructor(base: string, isHierarchical: boolean) {
    this.base = base
    this.#maxDepth = isHierarchical ? maxDepth.hierarchical : maxDepth.flat
  }

  /** Returns the name of a blob, or of the marker of a folder. @throws INVALID_PATH, also for the root */
  blob(path: StoragePath): string {
    if (path === '') throw new StorageError('INVALID_PATH', 'This cannot be done to the root folder.')
    for (const name of segmentsOf(path)) refuseName(name)
    const key = this.base + path
    if (key.length > maxKeyLength) {
      const message = `The path is too long: with its prefix it can have at most ${maxKeyLength} characters.`
      throw new StorageError('INVALID_PATH', message)
    }
    if (key.split('/').length > this.#maxDepth) {
      throw new StorageError('INVALID_PATH', `A path can have at most ${this.#maxDepth} names in this account.`)
    }
    return key
  }

  /** Returns the prefix of every blob below a folder. @throws INVALID_PATH */
  folder(path: StoragePath): string {
    return path === '' ? this.base : `${this.blob(path)}/`
  }

  /** @param id a UUID */
  staging(id: string): string {
    return `${this.base}${stagingPrefix}${id}`
  }
}

/** Azure takes `\` for `/`, drops dots at the end of a name, and has no control characters and no U+E000 in names. */
export const nameTraits = {
  forbiddenInNames: `\\\ue000\ufffe\uffff${controlCharacters}`,
  forbiddenAtEndOfNames: '.',
} satisfies Partial<Traits>

/** @throws INVALID_PATH */
function refuseName(name: string): void {
  const problem = problemOf(name)
  if (problem !== undefined) throw new StorageError('INVALID_PATH', problem)
}

function problemOf(name: string): string | undefined {
  // The host refuses these, too. Check again, so that a bug there cannot escape the prefix.
  if (name === '' || name.includes('/') || name.includes('\0') || !name.isWellFormed()) {
    return 'The path has an empty segment, or contains a NUL.'
  }
  return isStaging(name) ? 'Stowage uses such names for unfinished uploads.' : undefined
}

/** True for the name of a blob whose parts are not yet joined to a file. */
export function isStaging(name: string): boolean {
  return name.startsWith(stagingPrefix) && isUploadId(name.slice(stagingPrefix.length))
}

export function isUploadId(id: unknown): id is string {
  return typeof id === 'string' && /^[0-9a-f-]{36}$/.test(id)
}

/** True for a name that this adapter can read and write if its traits allow it. */
export function isName(name: string): boolean {
  return problemOf(name) === undefined
}

/** Encodes the name of a blob for a URL. */
export function encodeKey(key: string): string {
  return key.split('/').map(encodeURIComponent).join('/')
}
