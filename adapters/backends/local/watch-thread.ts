/** Runs in the thread of `Watcher`. */
import { parentPort } from 'node:worker_threads'
import { StorageError } from '../../contract.ts'
import { LocalChanges } from './changes.ts'
import { toStorageError } from './errors.ts'
import type { WatchRequest, WatchResponse } from './watcher.ts'
import { FolderWatches } from './watches.ts'

const watches = new FolderWatches()
const watched = new Map<number, LocalChanges>()
/** The main thread stops waiting by itself. */
const { signal } = new AbortController()

function respond(response: WatchResponse): void {
  parentPort?.postMessage(response)
}

async function answer(request: Extract<WatchRequest, { kind: 'changes' }>): Promise<void> {
  const { id, provider, root, cursor, isBusy } = request
  const warn = (message: string, details: Record<string, unknown>) =>
    respond({ kind: 'warning', provider, message, details })
  const changes = watched.get(provider) ?? new LocalChanges({ root, watches, warn })
  watched.set(provider, changes)
  try {
    const page = await changes.changes(cursor, { signal, isBusy })
    respond({ kind: 'page', id, page, now: performance.now() })
  } catch (error) {
    const found = toStorageError(error)
    const { code, message } =
      found instanceof StorageError
        ? found
        : { code: 'UNAVAILABLE' as const, message: 'The folders cannot be watched.' }
    const cause = found instanceof StorageError ? found.cause : found
    respond({ kind: 'failure', id, code, message, cause: cause instanceof Error ? String(cause.stack) : cause })
  }
}

parentPort?.on('message', (request: WatchRequest) => {
  if (request.kind === 'changes') {
    void answer(request)
    return
  }
  watched.get(request.provider)?.close()
  watched.delete(request.provider)
})
