/** Calls adapters: each call has a deadline, and each failure becomes an error that a client may see. */
import { inspect } from 'node:util'
import { orAborted, StorageError, type StorageErrorCode, storageErrorCodes } from '../../adapters/contract.ts'
import { AppError, type Reason } from '../errors.ts'
import { isClosedAddress } from './network/guard.ts'

/**
 * Runs an adapter's method. Rejects with the signal's reason when the signal aborts, even if the adapter ignores it, and
 * with an AppError when the adapter fails.
 *
 * @param work may also throw or return a plain value, as adapters in JavaScript do
 * @param discard receives a result that arrives after the abort
 */
export async function callAdapter<T>(
  signal: AbortSignal,
  work: () => Promise<T>,
  discard?: (late: T) => unknown,
): Promise<T> {
  signal.throwIfAborted()
  const working = (async () => work())()
  try {
    return await orAborted(working, signal)
  } catch (error) {
    working.then(discard).catch(() => {})
    throw fromAdapter(error, signal)
  }
}

/** Milliseconds for an adapter to undo its work after an abort. */
const abortTimeout = 5000

/**
 * Runs an adapter's method that changes something. After an abort it waits up to five seconds for the adapter itself, so
 * that no cleanup overlaps with the change. A change that completes in this time counts as done.
 */
export async function callAdapterForChange<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  signal.throwIfAborted()
  const late = Promise.withResolvers<never>()
  let isLate = false
  let timer: NodeJS.Timeout | undefined
  const onAbort = () => {
    timer = setTimeout(() => {
      isLate = true
      late.reject(signal.reason)
    }, abortTimeout)
  }
  signal.addEventListener('abort', onAbort, { once: true })
  const working = (async () => work())()
  // After the race, a failure of the adapter has no other listener.
  working.catch(() => {})
  try {
    return await Promise.race([working, late.promise])
  } catch (error) {
    // If the adapter reports an error of its own before this timeout, that error is thrown instead of the abort.
    throw fromAdapter(isLate || error === signal.reason ? error : fromAdapter(error), signal)
  } finally {
    signal.removeEventListener('abort', onAbort)
    clearTimeout(timer)
  }
}

const reasonOf: Record<StorageErrorCode, Reason> = {
  NOT_FOUND: 'NOT_FOUND',
  ALREADY_EXISTS: 'ALREADY_EXISTS',
  NOT_EMPTY: 'NOT_EMPTY',
  NOT_A_FILE: 'NOT_A_FILE',
  NOT_A_DIRECTORY: 'NOT_A_FOLDER',
  INVALID_PATH: 'INVALID_PATH',
  INVALID_CONFIG: 'INVALID_CONFIG',
  NOT_IN_ONE_STEP: 'BACK_END_FAULT',
  PRECONDITION_FAILED: 'PRECONDITION_FAILED',
  IN_USE: 'IN_USE',
  RANGE_NOT_SATISFIABLE: 'RANGE_NOT_SATISFIABLE',
  PERMISSION_DENIED: 'BACK_END_REFUSED',
  UNAUTHORIZED: 'BACK_END_CREDENTIALS',
  NEEDS_RECONNECT: 'NEEDS_RECONNECT',
  QUOTA_EXCEEDED: 'QUOTA_EXCEEDED',
  RATE_LIMITED: 'BACK_END_RATE_LIMITED',
  UNAVAILABLE: 'UNAVAILABLE',
}

/** The maximum number of characters of an adapter's message to the client. */
const maxMessageLength = 1000
/** Milliseconds: a day. */
const maxRetryAfter = 24 * 60 * 60 * 1000

/** Checks the name and the `code`, because an adapter may bring its own copy of the class. */
export function isStorageError(error: unknown): error is StorageError {
  return (
    error instanceof Error &&
    'code' in error &&
    (error instanceof StorageError || error.name === 'StorageError') &&
    storageErrorCodes.some(code => code === error.code)
  )
}

/** Recognizes the reason of an `AbortSignal.timeout`. */
function isTimeout(error: unknown): boolean {
  return error instanceof DOMException && error.name === 'TimeoutError'
}

/**
 * Converts an adapter's failure to the error for the client. Returns the reason of the caller's own abort unchanged. An error
 * that is not a StorageError becomes BACK_END_FAULT, and its text appears in the log only.
 */
export function fromAdapter(error: unknown, signal?: AbortSignal): unknown {
  if (error instanceof AppError) return error
  if (isTimeout(error)) return new AppError('UNAVAILABLE', 'The back end does not respond in time.', { cause: error })
  if (signal?.aborted) return signal.reason
  if (isClosedAddress(error)) {
    const message = 'The back end is at an address that is closed to providers: an administrator who tests it sees why.'
    return new AppError('UNAVAILABLE', message, { cause: error })
  }
  if (isStorageError(error)) {
    const { message, retryAfterMs, code } = error
    const sentence = typeof message === 'string' && message !== '' ? message.slice(0, maxMessageLength) : undefined
    const isTime = typeof retryAfterMs === 'number' && retryAfterMs >= 0 && retryAfterMs <= maxRetryAfter
    return new AppError(reasonOf[code], sentence, {
      cause: error,
      retryAfterMs: isTime ? retryAfterMs : undefined,
      facts: code === 'INVALID_CONFIG' ? propertyIn(error) : undefined,
    })
  }
  return new AppError('BACK_END_FAULT', undefined, { cause: loggable(error) })
}

/** Returns the property that is wrong, as forms expect it. */
function propertyIn({ property }: StorageError): Record<string, unknown> | undefined {
  const { name, suggestion } = property ?? {}
  if (typeof name !== 'string') return undefined
  const isSuggested = typeof suggestion === 'string' && suggestion.length <= maxMessageLength
  return { properties: [name], ...(isSuggested && { suggestions: { [name]: suggestion } }) }
}

/** Wraps a thrown value that is not an error, because the log would show no text for it. */
function loggable(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(`It threw ${inspect(thrown, { customInspect: false })}`)
}
