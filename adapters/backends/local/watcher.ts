/**
 * Watches the folders of all local providers of a process in a thread of their own, so that events of the kernel and new folders take no
 * time of the thread that serves requests. `watch-thread.ts` runs in the thread, with one `LocalChanges` for each provider.
 */
import { extname } from 'node:path'
import { Worker } from 'node:worker_threads'
import { type Call, type ChangesPage, orAborted, StorageError, type StorageErrorCode } from '../../contract.ts'
import type { Root } from './open.ts'

/** Asks for the changes of a provider, or ends its watches. */
export type WatchRequest =
  | { kind: 'changes'; id: number; provider: number; root: Root; cursor: string | null; isBusy: boolean }
  | { kind: 'close'; provider: number }

export type WatchResponse =
  | {
      kind: 'page'
      id: number
      page: ChangesPage | null
      /** The present time of the thread, by its own `performance.now()`. */
      now: number
    }
  | { kind: 'failure'; id: number; code: StorageErrorCode; message: string; cause: unknown }
  | { kind: 'warning'; provider: number; message: string; details: Record<string, unknown> }

/** MiB of V8's heap in the thread: 3.5 KB for each of 30,000 folders. */
const heap = { maxOldGenerationSizeMb: 256, maxYoungGenerationSizeMb: 8 }

/** Questions of a provider that the thread works on, also those whose callers no longer wait: a disk that hangs answers none. */
const maxUnanswered = 2

// Node strips types from the sources; a build has JavaScript.
const threadFile = new URL(`./watch-thread${extname(import.meta.url)}`, import.meta.url)

type Warn = (message: string, details: Record<string, unknown>) => void

/** The thread. It starts with the first question, and ends when no provider is watched. */
export class Watcher {
  #worker: Worker | null = null
  readonly #waiting = new Map<number, PromiseWithResolvers<ChangesPage | null>>()
  readonly #watched = new Map<number, Warn>()
  /** The providers of the questions that the thread has not answered, by the ids of the questions. */
  readonly #unanswered = new Map<number, number>()
  readonly #file: URL
  #providers = 0
  #questions = 0

  /** @param file what the thread runs */
  constructor(file = threadFile) {
    this.#file = file
  }

  /** @param warn called when the folders of the provider cannot be watched */
  watch(root: Root, warn: Warn): WatchedRoot {
    this.#providers += 1
    const provider = this.#providers
    return {
      changes: async (cursor, { signal, isBusy }) => {
        signal.throwIfAborted()
        this.#watched.set(provider, warn)
        return await this.#ask({ provider, root, cursor, isBusy }, signal)
      },
      close: () => {
        if (!this.#watched.delete(provider)) return
        if (this.#watched.size === 0) this.#end()
        else this.#worker?.postMessage({ kind: 'close', provider } satisfies WatchRequest)
      },
    }
  }

  async #ask(
    question: Omit<Extract<WatchRequest, { kind: 'changes' }>, 'kind' | 'id'>,
    signal: AbortSignal,
  ): Promise<ChangesPage | null> {
    const unanswered = [...this.#unanswered.values()].filter(provider => provider === question.provider)
    if (unanswered.length >= maxUnanswered) {
      throw new StorageError('UNAVAILABLE', 'The disk has not answered yet: the changes of its folders are not known.')
    }
    const answer = Promise.withResolvers<ChangesPage | null>()
    // The caller may not wait any more.
    answer.promise.catch(() => {})
    this.#questions += 1
    const id = this.#questions
    this.#worker ??= this.#start()
    this.#worker.ref()
    this.#waiting.set(id, answer)
    this.#unanswered.set(id, question.provider)
    this.#worker.postMessage({ kind: 'changes', id, ...question } satisfies WatchRequest)
    try {
      return await orAborted(answer.promise, signal)
    } finally {
      // The thread may never respond, because a disk hangs.
      this.#waiting.delete(id)
      if (this.#waiting.size === 0) this.#worker?.unref()
    }
  }

  #start(): Worker {
    const worker = new Worker(this.#file, { name: 'watches', resourceLimits: heap })
    let failure: unknown
    worker.on('message', (response: WatchResponse) => this.#onResponse(response))
    worker.on('error', error => {
      failure = error
    })
    worker.once('exit', () => {
      if (this.#worker !== worker) return
      this.#worker = null
      this.#unanswered.clear()
      this.#failAll(failure)
    })
    return worker
  }

  #onResponse(response: WatchResponse): void {
    if (response.kind === 'warning') {
      this.#watched.get(response.provider)?.(response.message, response.details)
      return
    }
    this.#unanswered.delete(response.id)
    const answer = this.#waiting.get(response.id)
    if (response.kind === 'page') answer?.resolve(pageNow(response.page, response.now))
    else answer?.reject(new StorageError(response.code, response.message, { cause: response.cause }))
  }

  #end(): void {
    const worker = this.#worker
    this.#worker = null
    this.#unanswered.clear()
    this.#failAll(undefined)
    void worker?.terminate()
  }

  #failAll(cause: unknown): void {
    const lost = [...this.#waiting.values()]
    this.#waiting.clear()
    for (const { reject } of lost) {
      reject(new StorageError('UNAVAILABLE', 'The server lost the thread that watches folders: try again.', { cause }))
    }
  }
}

export interface WatchedRoot {
  /**
   * @param call.isBusy whether the provider lists many folders at present, to which the beginning of the watches gives way
   * @throws as `LocalChanges.changes`
   */
  changes(cursor: string | null, call: Call & { isBusy: boolean }): Promise<ChangesPage | null>
  /** Ends the watches. The next call of `changes` begins new ones. */
  close(): void
}

/** The clock of a thread begins with the thread. @param now the present time of the thread */
function pageNow(page: ChangesPage | null, now: number): ChangesPage | null {
  if (page === null || page.changed === 'everything') return page
  const later = performance.now() - now
  const changed = page.changed.map(change =>
    change.noticedAt === undefined ? change : { ...change, noticedAt: change.noticedAt + later },
  )
  return { ...page, changed }
}
