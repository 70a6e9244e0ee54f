import type { Graphql, RequestOptions } from './graphql.ts'
import type { FailureKind, ProviderStatus, Role } from './schema.ts'

/** The facts that an administrator looks at first. */
export interface Overview {
  people: {
    roles: { role: Role; members: number }[]
    activeIn7Days: number
    activeIn30Days: number
    withoutSecondFactor: number
    invites: number
    serviceAccounts: number
    deactivated: number
  }
  storages: {
    provider: { id: string; name: string; status: ProviderStatus; statusReason: string | null }
    /** Null if the files were never counted. */
    files: number | null
    bytes: number | null
    /** The bytes that were added in 30 days; null if nothing is known from then. */
    addedBytes: number | null
  }[]
  /** Kinds without failures are missing. */
  failures: { kind: FailureKind; count: number; latestAt: string | null }[]
  server: {
    version: string
    postgresVersion: string
    migration: string
    databaseBytes: number
    hasMixedVersions: boolean
    processes: {
      id: string
      host: string
      version: string
      nodeVersion: string
      startedAt: string
      seenAt: string
      isAlive: boolean
    }[]
  }
}

/** The usage of storages on a day, which begins at midnight in UTC. */
export interface UsageDay {
  day: string
  files: number
  bytes: number
}

export interface UsageOptions extends RequestOptions {
  /** The number of days until today. The default is 30. */
  days?: number
  /** Only this provider. The default is all together. */
  providerId?: string
}

const overviewQuery = `query Overview {
  overview {
    people {
      roles { role members }
      activeIn7Days activeIn30Days withoutSecondFactor invites serviceAccounts deactivated
    }
    storages { provider { id name status statusReason } files bytes addedBytes }
    failures { kind count latestAt }
    server {
      version postgresVersion migration databaseBytes hasMixedVersions
      processes { id host version nodeVersion startedAt seenAt isAlive }
    }
  }
}`

const usageQuery = `query Usage($days: Int, $providerId: ID) {
  usageHistory(days: $days, providerId: $providerId) { day files bytes }
}`

/** @throws StowageError */
export async function readOverview(graphql: Graphql, options?: RequestOptions): Promise<Overview> {
  return (await graphql.run<{ overview: Overview }, object>(overviewQuery, {}, options)).overview
}

/** Resolves with the days that are known, the oldest first. @throws StowageError */
export async function readUsage(
  graphql: Graphql,
  { days = 30, providerId, signal }: UsageOptions,
): Promise<UsageDay[]> {
  const variables = { days, providerId: providerId ?? null }
  const run = graphql.run<{ usageHistory: UsageDay[] }, object>(usageQuery, variables, signal && { signal })
  return (await run).usageHistory
}
