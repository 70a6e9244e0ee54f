import { StorageError, type StoragePath, segmentsOf } from '../../contract.ts'

/** Maps the paths of a provider to the keys of its store. */
export class ObjectKeys {
  /** Empty, or ending in `/`. */
  readonly base: string
  readonly #problemOf: (names: readonly string[], key: string) => string | undefined

  /** @param problemOf returns why the store cannot have a key */
  constructor(base: string, problemOf: (names: readonly string[], key: string) => string | undefined) {
    this.base = base
    this.#problemOf = problemOf
  }

  /** Returns the key of a file. @throws INVALID_PATH, also for the root */
  file(path: StoragePath): string {
    if (path === '') throw new StorageError('INVALID_PATH', 'This cannot be done to the root folder.')
    const key = this.base + path
    const problem = this.#problemOf(segmentsOf(path), key)
    if (problem !== undefined) throw new StorageError('INVALID_PATH', problem)
    return key
  }

  /** Returns the prefix of every key below a folder. @throws INVALID_PATH */
  folder(path: StoragePath): string {
    return path === '' ? this.base : `${this.file(path)}/`
  }
}

/** Parses the address of a store in a configuration. @throws INVALID_CONFIG */
export function parseEndpoint(text: string, example: string): URL {
  const url = URL.parse(text)
  const isPlain = url && !url.username && !url.password && !url.search && !url.hash
  if (isPlain && (url.protocol === 'https:' || url.protocol === 'http:')) return url
  const message = `The endpoint is an address such as ${example}, without credentials, "?" or "#".`
  throw new StorageError('INVALID_CONFIG', message)
}

/** Parses a folder of a store in a configuration: the base of all keys. @throws INVALID_CONFIG with the message */
export function parsePrefix(text: string, isName: (name: string) => boolean, message: string): string {
  if (text === '' || text === '/') return ''
  const prefix = text.replace(/^\/|\/$/g, '')
  if (prefix.isWellFormed() && prefix.split('/').every(isName)) return `${prefix}/`
  throw new StorageError('INVALID_CONFIG', message)
}
