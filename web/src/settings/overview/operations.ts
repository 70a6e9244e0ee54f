import { ask } from '../../api/client.ts'
import { graphql, type ResultOf } from '../../api/graphql.ts'

const OverviewQuery = graphql(`
  query Overview {
    overview {
      people {
        roles { role members }
        activeIn7Days activeIn30Days withoutSecondFactor invites serviceAccounts deactivated
      }
      storages {
        provider { id name status statusReason type { type title } }
        files bytes addedBytes
      }
      failures { kind count latestAt }
      server {
        version postgresVersion migration databaseBytes hasMixedVersions
        processes { id host version nodeVersion startedAt seenAt isAlive }
      }
    }
  }
`)

const UsageHistoryQuery = graphql(`
  query UsageHistory($days: Int!, $providerId: ID) {
    usageHistory(days: $days, providerId: $providerId) { day files bytes }
  }
`)

export type Overview = ResultOf<typeof OverviewQuery>['overview']
export type UsageDay = ResultOf<typeof UsageHistoryQuery>['usageHistory'][number]

/** @throws StowageError */
export async function readOverview(signal: AbortSignal): Promise<Overview> {
  return (await ask(OverviewQuery, {}, { signal })).overview
}

/** Returns the days that are known, the oldest first. @throws StowageError */
export async function readUsage(days: number, providerId: string | null, signal: AbortSignal): Promise<UsageDay[]> {
  return (await ask(UsageHistoryQuery, { days, providerId }, { signal })).usageHistory
}
