import type { Viewer } from '../../auth/viewer.ts'
import { AppError } from '../../errors.ts'

/** The maximum number of subscriptions to one field, of one credential on one server. */
export const maxPerCredential = 20
/** The maximum number of subscriptions to one field on one server. */
export const maxPerServer = 1000
/** The maximum number of values that a client has not read. */
export const maxUnread = 1000

/** @throws TOO_MANY_SUBSCRIPTIONS */
export function requireRoom(open: ReadonlySet<{ viewer: Viewer }>, viewer: Viewer): void {
  const own = Array.from(open).filter(each => each.viewer.credentialId === viewer.credentialId)
  if (own.length >= maxPerCredential) {
    const message = `This credential has ${maxPerCredential} open subscriptions, which is the limit: close one of them.`
    throw new AppError('TOO_MANY_SUBSCRIPTIONS', message)
  }
  if (open.size >= maxPerServer) {
    throw new AppError('TOO_MANY_SUBSCRIPTIONS', 'The server has too many open subscriptions: try again later.')
  }
}

export function stopping(): AppError {
  return new AppError('UNAVAILABLE', 'The server is stopping: subscribe again.', { retryAfterMs: 1000 })
}
