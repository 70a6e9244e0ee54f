/** The trash of a provider: that of its back end or, without one, the reserved folder at its root. */
import type { Call, Entry, ListPage, NativeTrash, StorageProvider } from '../../adapters/contract.ts'
import { childOf, isName, isReservedName, type StoragePath, trashFolder } from '../auth/path.ts'
import { AppError } from '../errors.ts'
import { allDone } from '../lib/limiter.ts'
import { callAdapter } from './adapter-call.ts'
import type { ProviderContext } from './read-location.ts'
import { runWithTimeout } from './transfer-timeouts.ts'
import { fault } from './validate-entry.ts'

export interface TrashTraits {
  /** Days that deleted entries stay in the trash; 0 deletes them at once. */
  days: number
  /** Whether the back end itself has a trash. */
  isNative: boolean
  /** Whether an entry with everything below it gets there in one step. Otherwise every file has to be copied. */
  isOneStep: boolean
}

/** @param days.own the days of the provider; null leaves it to `usual`, the days of the server */
export function trashTraits(
  provider: StorageProvider,
  { own, usual }: { own: number | null; usual: number },
): TrashTraits {
  const isNative = provider.trash !== undefined
  const isOneStep = isNative || provider.move !== undefined
  return { days: own ?? (isOneStep ? usual : 0), isNative, isOneStep }
}

export function nativeTrash({ provider }: { provider: StorageProvider }): NativeTrash {
  if (!provider.trash) throw new AppError('UNAVAILABLE', 'The back end no longer has a trash: restore the file there.')
  return provider.trash
}

/** @throws BACK_END_FAULT */
export function checkTrashId(id: string): string {
  if (typeof id === 'string' && id !== '' && id.length <= 1024) return id
  throw fault('an invalid id for the trash')
}

/** The path of an entry in the trash. For the trash of a back end, only quotas know it. @param id the id there */
export function trashPath(id: string): StoragePath {
  return `${trashFolder}/${id}` as StoragePath
}

/** An entry in the trash. */
export interface TrashedEntry {
  id: string
  /** The id of the entry in the trash of the back end; null in the reserved folder, where the name of the entry is `id`. */
  nativeId: string | null
}

/** The maximum depth of a tree that is deleted one by one. */
const maxDepth = 512
const pageSize = 1000
const filesAtOnce = 16

/** The trash of a provider, as the server itself uses it without a grant. */
export class ProviderTrash {
  readonly #context: ProviderContext

  constructor(context: ProviderContext) {
    this.#context = context
  }

  has({ id, nativeId }: TrashedEntry, signal: AbortSignal): Promise<boolean> {
    if (nativeId !== null) {
      return this.#call(signal, async call => (await nativeTrash(this.#context).has(nativeId, call)) === true)
    }
    return this.entryAt(childOf(trashFolder, id), signal).then(entry => entry !== null)
  }

  /** Deletes an entry for good, with everything below it. */
  remove({ id, nativeId }: TrashedEntry, signal: AbortSignal): Promise<void> {
    return nativeId === null
      ? this.#removeTree(childOf(trashFolder, id), signal)
      : this.#step(signal, call => nativeTrash(this.#context).remove(nativeId, call))
  }

  async #removeTree(path: StoragePath, signal: AbortSignal): Promise<void> {
    const kind = (await this.entryAt(path, signal))?.kind
    if (kind === 'directory') await this.#removeFolder(path, signal)
    else if (kind === 'file') await this.#call(signal, call => this.#context.provider.delete(path, call))
  }

  async #removeFolder(path: StoragePath, signal: AbortSignal, depth = 0): Promise<void> {
    const { provider } = this.#context
    if (provider.deleteTree) return this.#step(signal, async call => provider.deleteTree?.(path, call))
    if (depth > maxDepth) throw new AppError('INVALID_INPUT', `The folder is deeper than ${maxDepth} folders.`)
    let cursor: string | undefined
    do {
      const page: ListPage = await this.#call(signal, call =>
        provider.list(path, { ...call, limit: pageSize, ...(cursor !== undefined && { cursor }) }),
      )
      const named = page.entries.filter(({ name }) => isName(name) || isReservedName(name))
      await this.#removeFiles(path, named.filter(({ kind }) => kind === 'file').values(), signal)
      for (const { name, kind } of named) {
        if (kind === 'directory') await this.#removeFolder(childOf(path, name), signal, depth + 1)
      }
      cursor = page.cursor
    } while (cursor !== undefined)
    await this.#call(signal, call => provider.delete(path, call))
  }

  /** Waits until all calls have settled. @throws the first error */
  async #removeFiles(folder: StoragePath, files: IterableIterator<Entry>, signal: AbortSignal): Promise<void> {
    const remove = async () => {
      for (const { name } of files) {
        await this.#call(signal, call => this.#context.provider.delete(childOf(folder, name), call))
      }
    }
    await allDone(Array.from({ length: filesAtOnce }, remove))
  }

  /** Returns null if nothing is at the path. */
  async entryAt(path: StoragePath, signal: AbortSignal): Promise<Entry | null> {
    try {
      return await this.#call(signal, call => this.#context.provider.stat(path, call))
    } catch (error) {
      if (error instanceof AppError && error.reason === 'NOT_FOUND') return null
      throw error
    }
  }

  #call<T>(signal: AbortSignal, call: (call: Call) => Promise<T>): Promise<T> {
    return this.#bounded(this.#context.metadataTimeout, signal, call)
  }

  #step<T>(signal: AbortSignal, call: (call: Call) => Promise<T>): Promise<T> {
    return this.#bounded(this.#context.timeouts.step, signal, call)
  }

  #bounded<T>(time: number, signal: AbortSignal, call: (call: Call) => Promise<T>): Promise<T> {
    return runWithTimeout(signal, time, bounded => callAdapter(bounded, () => call({ signal: bounded })))
  }
}
