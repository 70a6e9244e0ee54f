/** Keeps the status of each provider in the database at what its last call showed. */
import { setTimeout as sleep } from 'node:timers/promises'
import { StorageError, type StorageProvider } from '../../adapters/contract.ts'
import type { Database } from '../db/client.ts'
import { followProviderStatus, type ProviderRecord } from '../db/providers.ts'
import { AppError, type Reason } from '../errors.ts'
import { wrapCalls } from '../lib/wrap-calls.ts'
import { fromAdapter, isStorageError } from './adapter-call.ts'

type Version = Pick<ProviderRecord, 'id' | 'version'>

/** The failures that concern a back end as a whole. The token store records the end of a consent. */
const wideFailures: ReadonlySet<Reason> = new Set(['UNAVAILABLE', 'BACK_END_CREDENTIALS', 'INVALID_CONFIG'])
/** The calls that succeed even if no path can be reached. */
const callsWithoutPath: ReadonlySet<string> = new Set(['quota', 'changes', 'presign', 'close'])
/** Milliseconds after which the same result is written again, because another server may have seen another one. */
const repeatTime = 10_000
/** The minimum number of milliseconds between two statements about one provider. */
const pause = 1000

interface CallReport {
  of: Version
  /** The reason for the failure; null if the provider works. */
  failure: string | null
}

/** The reports about one provider. */
interface Known {
  written: string | null
  writtenAt: number
  next: CallReport | null
  isWriting: boolean
  /** The last statement, and the pause after it. */
  writing: Promise<void>
}

export type StatusReports = ReturnType<typeof createStatusReports>

export function createStatusReports({ db, onError }: { db: Database; onError: (error: unknown) => void }) {
  const providers = new Map<string, Known>()
  const ending = new AbortController()

  function knownOf({ id, status, statusReason }: ProviderRecord): Known {
    const found = providers.get(id)
    if (found) return found
    const written = status === 'UNAVAILABLE' ? (statusReason ?? '') : null
    const known: Known = {
      written,
      writtenAt: performance.now(),
      next: null,
      isWriting: false,
      writing: Promise.resolve(),
    }
    providers.set(id, known)
    return known
  }

  function report(record: ProviderRecord, failure: string | null): void {
    const known = knownOf(record)
    known.next = { of: record, failure }
    if (!known.isWriting) known.writing = write(known)
  }

  /** Writes the latest report, unless the same one was written a short time ago. */
  async function write(known: Known): Promise<void> {
    known.isWriting = true
    while (known.next && isNews(known, known.next) && !ending.signal.aborted) {
      const { of, failure } = known.next
      known.next = null
      await followProviderStatus(db, of, failure).catch(onError)
      Object.assign(known, { written: failure, writtenAt: performance.now() })
      await sleep(pause, undefined, { signal: ending.signal, ref: false }).catch(() => {})
    }
    known.isWriting = false
  }

  /** Reports an error if it concerns the back end as a whole. */
  function reportFailure(record: ProviderRecord, error: unknown): void {
    const failure = fromAdapter(error)
    if (failure instanceof AppError && wideFailures.has(failure.reason)) report(record, failure.message)
  }

  return {
    reportFailure,

    /** Returns the provider with its calls reported. */
    followed(provider: StorageProvider, record: ProviderRecord): StorageProvider {
      return wrapCalls(provider, (name, call) => async (...args) => {
        try {
          const result = await call(...args)
          if (!callsWithoutPath.has(name)) report(record, null)
          return result
        } catch (error) {
          const failure = isMissingTop(error, args) ? topMissing(error) : error
          reportFailure(record, failure)
          throw failure
        }
      })
    },

    forget(id: string): void {
      providers.delete(id)
    },

    async close(): Promise<void> {
      ending.abort()
      await Promise.all([...providers.values()].map(({ writing }) => writing))
    },
  }
}

function isNews({ written, writtenAt }: Known, { failure }: CallReport): boolean {
  return failure !== written || performance.now() - writtenAt > repeatTime
}

/** The top folder always exists, so a back end without it does not work. */
function isMissingTop(error: unknown, [path]: readonly unknown[]): error is StorageError {
  return path === '' && isStorageError(error) && error.code === 'NOT_FOUND'
}

function topMissing(cause: StorageError): StorageError {
  const message = 'The top folder of this storage is missing at its back end. Restore it there, or change the storage.'
  return new StorageError('UNAVAILABLE', message, { cause })
}
