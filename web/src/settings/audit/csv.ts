import type { AuditEvent } from './operations.ts'

const columns = [
  'at',
  'action',
  'result',
  'userEmail',
  'userName',
  'credentialKind',
  'credentialPrefix',
  'address',
  'providerName',
  'path',
  'toProviderName',
  'toPath',
  'subjectKind',
  'subjectId',
  'bytes',
  'count',
  'requestId',
  'details',
] as const satisfies readonly (keyof AuditEvent)[]

/** Writes events as comma-separated values (RFC 4180). */
export function toCsv(events: readonly AuditEvent[]): string {
  const lines = events.map(event => columns.map(column => cell(event[column])).join(','))
  return [columns.join(','), ...lines].join('\r\n')
}

function cell(value: unknown): string {
  if (value === null || value === undefined) return ''
  const text = typeof value === 'object' ? JSON.stringify(value) : String(value)
  // Spreadsheets run a text that begins like a formula, and names of files come from anybody.
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}
