import type { Connection, Graphql, RequestOptions } from './graphql.ts'
import type { SetQuotaInput } from './schema.ts'

/** A limit on what a storage or a folder contains, or on what a member is charged for. Null is no limit. */
export interface Quota {
  id: string
  /** Null for the quota of a member. */
  providerId: string | null
  /** "/" for a whole storage; null for the quota of a member. */
  path: string | null
  /** Null for the quota of a storage or a folder, and if you may not see other members. */
  member: { id: string; name: string | null; email: string; isServiceAccount: boolean } | null
  bytes: number | null
  files: number | null
  usedBytes: number
  usedFiles: number
  /** The reservations of running changes. */
  reservedBytes: number
  reservedFiles: number
  /** Whether the server has counted everything that existed before the quota. */
  isExact: boolean
}

export interface QuotaListOptions extends RequestOptions {
  /** Only the quotas of this provider. */
  providerId?: string
}

const fields = `id providerId path member { id name email isServiceAccount }
  bytes files usedBytes usedFiles reservedBytes reservedFiles isExact`

const listQuery = `query Quotas($providerId: ID, $after: String) {
  quotas(first: 100, providerId: $providerId, after: $after) {
    nodes { ${fields} }
    pageInfo { hasNextPage endCursor }
  }
}`

const setMutation = `mutation SetQuota($input: SetQuotaInput!) { setQuota(input: $input) { ${fields} } }`

/** Yields the quotas that the credential may see, newest first. @throws StowageError */
export function listQuotas(
  graphql: Graphql,
  { providerId, signal }: QuotaListOptions,
): AsyncGenerator<Quota, void, undefined> {
  const connectionOf = ({ quotas }: { quotas: Connection<Quota> }) => quotas
  return graphql.nodes(listQuery, { providerId: providerId ?? null }, connectionOf, signal && { signal })
}

/** Sets the limits of a storage, a folder or a member. Without any, the quota is removed. @throws StowageError */
export async function setQuota(graphql: Graphql, input: SetQuotaInput, options?: RequestOptions): Promise<Quota> {
  const { setQuota } = await graphql.run<{ setQuota: Quota }, object>(setMutation, { input }, options)
  return setQuota
}
