import { AppError } from '../../errors.ts'
import type { WebhookEvent } from './events.ts'

/** Characters. */
const maxUrl = 2000

/** Returns the URL, and its host for the audit log: the rest may contain a secret. @throws INVALID_INPUT */
export function parseUrl(text: string): { url: string; host: string } {
  const url = text.length <= maxUrl ? URL.parse(text) : null
  if (!url || !['http:', 'https:'].includes(url.protocol) || url.username !== '' || url.password !== '') {
    const message = `The URL of a webhook begins with "https://" or "http://", contains no user name, and has at most ${maxUrl} characters.`
    throw new AppError('INVALID_INPUT', message)
  }
  url.hash = ''
  return { url: url.href, host: url.host }
}

/** @throws INVALID_INPUT */
export function parseEvents(events: readonly WebhookEvent[]): readonly WebhookEvent[] {
  if (events.length === 0) throw new AppError('INVALID_INPUT', 'Give at least one event.')
  return events
}
