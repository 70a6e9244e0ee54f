import { ask } from '../../api/client.ts'
import { graphql, type ResultOf, type VariablesOf } from '../../api/graphql.ts'

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
