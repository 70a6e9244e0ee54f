import { type Entry, type Quota, StorageError, type StorageErrorCode } from '../../contract.ts'
import { notADirectory, notAFile, notEmpty, whyUnreachable } from '../errors.ts'

/** A failed request to a vendor, described by its response, if any. */
export interface Failure {
  /** Undefined without a response. */
  status: number | undefined
  /** The vendor's own word for the reason, such as `userRateLimitExceeded` or `invalid_grant`. */
  reason: string | undefined
  retryAfterMs: number | undefined
  /** For the log, without secrets. */
  cause: Error & { code?: unknown }
}

/** The meanings of the refusals of one vendor. */
export interface Refusals {
  /** The vendor's name in messages. */
  name: string
  /** Returns true if the vendor refused the request for its rate, before doing anything. Every such request can be repeated. */
  isRateLimit(failure: Failure): boolean
  /** Returns undefined for a refusal that the vendor does not document. */
  meaningOf(failure: Failure): readonly [StorageErrorCode, string] | undefined
}

/** Statuses from 500 on that do not pass: not implemented, another version of HTTP, no space. */
const lasting: readonly number[] = [501, 505, 507]

/** Returns true for a temporary failure, after which the request may or may not have taken effect. */
export const isTransient = ({ status, cause }: Failure) => {
  if (status === undefined) return cause.code !== 'ERR_CLOSED_ADDRESS'
  return (status >= 500 && !lasting.includes(status)) || status === 408
}

export function toStorageError(failure: Failure, { name, isRateLimit, meaningOf }: Refusals): StorageError {
  const { retryAfterMs, cause } = failure
  if (isRateLimit(failure)) {
    const message = `${name} accepts no more requests for now: try again in a minute.`
    return new StorageError('RATE_LIMITED', message, { cause, retryAfterMs: retryAfterMs ?? 30_000 })
  }
  const isLost = failure.status === undefined
  const unknown = isLost
    ? `cannot be reached: ${whyUnreachable(cause)}. Try again.`
    : 'sent an unexpected response: try again.'
  const [code, message] = meaningOf(failure) ?? ['UNAVAILABLE', `${name} ${unknown}`]
  return new StorageError(code, message, { cause, retryAfterMs })
}

/** Copies an error for the log. The errors of clients contain whole requests, with bodies and secret URLs. */
export function causeForLog(error: unknown, status: number | undefined, reason: string | undefined): Failure['cause'] {
  const message = error instanceof Error ? error.message : String(error)
  const code = property(property(error, 'cause'), 'code') ?? property(error, 'code')
  return Object.assign(new Error(withoutSecrets(message)), { status, reason, code })
}

/** Removes queries of URLs and words as long as tokens, which a response may repeat. */
function withoutSecrets(text: string): string {
  return text.replace(/\?[^\s"']*/g, '?...').replace(/[\w.~+/=%-]{40,}/g, '...')
}

/** Returns a property of parsed JSON; undefined if the value is not an object. */
export function property(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined
}

/**
 * Returns why a copy or a move cannot replace an existing entry; NOT_IN_ONE_STEP if only the vendor cannot, but the host can.
 */
export async function refusalOver(
  source: Entry['kind'],
  existing: Entry['kind'],
  isEmpty: () => Promise<boolean>,
): Promise<StorageError> {
  if (source !== existing) return source === 'file' ? notAFile() : notADirectory()
  if (source === 'directory' && !(await isEmpty())) return notEmpty()
  return new StorageError('NOT_IN_ONE_STEP', 'The storage cannot copy or move over an existing entry.')
}

export const changedMeanwhile = () =>
  new StorageError('UNAVAILABLE', 'The file changed while it was being read: try again.')

/** Checks the free space first, because vendors report a full account only after the last byte. @throws QUOTA_EXCEEDED */
export function refuseTooLarge({ used, total }: Quota, size: number, message: string): void {
  if (used !== null && total !== null && used + size > total) throw new StorageError('QUOTA_EXCEEDED', message)
}
