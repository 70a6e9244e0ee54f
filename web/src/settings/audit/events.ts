/** The events of the audit log: how they are read, and written to a file. */

import { ask } from '../../api/client.ts'
import { graphql, type ResultOf, type VariablesOf } from '../../api/graphql.ts'
import { saveBlob } from '../../lib/save-file.ts'

const AuditEventsQuery = graphql(`
  query AuditEvents($first: Int!, $after: String, $filter: AuditEventFilter) {
    auditEvents(first: $first, after: $after, filter: $filter) {
      nodes {
        id at action result userId userEmail userName credentialKind credentialId credentialPrefix address requestId
        providerId providerName path toProviderId toProviderName toPath subjectKind subjectId bytes count details
      }
      pageInfo { hasNextPage endCursor }
    }
  }
`)

const AuditChoicesQuery = graphql(`
  query AuditChoices($withMembers: Boolean!) {
    users(first: 200) @include(if: $withMembers) { nodes { id email name } }
    providers { id name }
  }
`)

type AuditPage = ResultOf<typeof AuditEventsQuery>['auditEvents']
export type AuditEvent = AuditPage['nodes'][number]
export type AuditFilter = NonNullable<VariablesOf<typeof AuditEventsQuery>['filter']>

/** @throws StowageError */
export async function listEvents(
  filter: AuditFilter,
  { first, after }: { first: number; after: string | null },
  signal: AbortSignal,
): Promise<AuditPage> {
  return (await ask(AuditEventsQuery, { first, after, filter }, { signal })).auditEvents
}

/** The members and storages to filter by. @throws StowageError */
export async function auditChoices(withMembers: boolean, signal: AbortSignal) {
  const { users, providers } = await ask(AuditChoicesQuery, { withMembers }, { signal })
  return { members: users?.nodes ?? [], storages: providers }
}

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
function toCsv(events: readonly AuditEvent[]): string {
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

/** Events in one page of the server. */
const pageSize = 200
/** The maximum number of events in one file. */
export const maxExported = 20_000

/** Downloads all events of a filter as one file, the newest first. Returns whether there are more. @throws StowageError */
export async function exportEvents(filter: AuditFilter, signal: AbortSignal): Promise<{ hasMore: boolean }> {
  const events: AuditEvent[] = []
  let after: string | null = null
  let hasMore = true
  while (hasMore && events.length < maxExported) {
    const page: Awaited<ReturnType<typeof listEvents>> = await listEvents(filter, { first: pageSize, after }, signal)
    events.push(...page.nodes)
    after = page.pageInfo.endCursor
    hasMore = page.pageInfo.hasNextPage
  }
  const content = new Blob([toCsv(events)], { type: 'text/csv' })
  saveBlob(content, `audit-${new Date().toISOString().slice(0, 10)}.csv`)
  return { hasMore }
}
