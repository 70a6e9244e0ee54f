import type { AuditEvent, AuditFilter } from './operations.ts'

/** The fields of the form of filters. Empty text filters nothing. */
export interface FilterDraft {
  userId: string
  providerId: string
  path: string
  action: AuditEvent['action'] | ''
  outcome: '' | 'OK' | 'CUT'
  /** Days in the time zone of the browser: "2026-11-22". */
  from: string
  to: string
}

/** The text of each filter in the address of the page. */
export const emptyFilter: FilterDraft = {
  userId: '',
  providerId: '',
  path: '',
  action: '',
  outcome: '',
  from: '',
  to: '',
}

/** Reads a filter from the address, so that a link to it can be sent to others. */
export function filterOf(search: URLSearchParams): FilterDraft {
  const given = Object.keys(emptyFilter).map(name => [name, search.get(name) ?? ''])
  return { ...emptyFilter, ...Object.fromEntries(given) }
}

/** Returns the parameters of the address; a filter that is not used is left out. */
export function searchOf(draft: FilterDraft): Record<string, string> {
  return Object.fromEntries(Object.entries(draft).filter(([, value]) => value !== ''))
}

export function toInput({ userId, providerId, path, action, outcome, from, to }: FilterDraft): AuditFilter {
  return {
    ...(userId && { userId }),
    ...(providerId && { providerId }),
    // A path belongs to one storage.
    ...(providerId && path && { pathPrefix: path.startsWith('/') ? path : `/${path}` }),
    ...(action && { action }),
    ...(outcome && { result: outcome }),
    ...(from && { since: startOf(from, 0) }),
    ...(to && { until: startOf(to, 1) }),
  }
}

/** Returns the start of a day, plus a number of days, as ISO 8601. */
function startOf(day: string, more: number): string {
  const start = new Date(`${day}T00:00:00`)
  start.setDate(start.getDate() + more)
  return start.toISOString()
}
