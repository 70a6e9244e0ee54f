/** Calls of agents that wait until a person approves or refuses them. Only a session can decide about them, and no API key. */
import type { Graphql, RequestOptions, SubscribeOptions } from './graphql.ts'
import type * as schema from './schema.ts'

/** A call through MCP that waits for the person of the session, or for an administrator of a service account. */
export interface Approval
  extends Pick<
    schema.Approval,
    'id' | 'kind' | 'tool' | 'providerId' | 'path' | 'entryKind' | 'size' | 'from' | 'newLength' | 'isPermanent'
  > {
  /** The name of the API key or the application that calls; null for a session. */
  credentialName: string | null
  createdAt: Date
  /** The time at which the call stops waiting. */
  expiresAt: Date
}

const fields = `id kind tool providerId path entryKind size from newLength isPermanent credentialName createdAt expiresAt`
const listQuery = `{ approvals { ${fields} } }`
const subscription = `subscription { approvalsChanged { ${fields} } }`
const mutation = `mutation ($id: ID!, $isApproved: Boolean!) { decideApproval(id: $id, isApproved: $isApproved) { id } }`

type Listed = Omit<Approval, 'createdAt' | 'expiresAt'> & { createdAt: string; expiresAt: string }

function toApproval({ createdAt, expiresAt, ...approval }: Listed): Approval {
  return { ...approval, createdAt: new Date(createdAt), expiresAt: new Date(expiresAt) }
}

/** @throws StowageError */
export async function listApprovals(graphql: Graphql, options?: RequestOptions): Promise<Approval[]> {
  const { approvals } = await graphql.run<{ approvals: Listed[] }, object>(listQuery, {}, options)
  return approvals.map(toApproval)
}

/** Yields what waits: at once, and after each change. @throws StowageError */
export async function* followApprovals(
  graphql: Graphql,
  options?: SubscribeOptions,
): AsyncGenerator<Approval[], void, undefined> {
  const events = graphql.subscribe<{ approvalsChanged: Listed[] }, object>(subscription, {}, options)
  for await (const { approvalsChanged } of events) yield approvalsChanged.map(toApproval)
}

/** Approves or refuses a call. @throws StowageError, such as PRECONDITION_FAILED if it does not wait any more */
export async function decideApproval(
  graphql: Graphql,
  variables: { id: string; isApproved: boolean },
  options?: RequestOptions,
): Promise<void> {
  await graphql.run<object, typeof variables>(mutation, variables, options)
}
