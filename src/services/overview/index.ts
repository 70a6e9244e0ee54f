/**
 * The overview for administrators: the members, the storages and how their usage grows, the latest failures, and the versions that
 * run. A viewer enters, and counts from the database leave. Nothing here asks a back end.
 */
import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import { isId } from '../../auth/id.ts'
import { requireWorkspaceAdmin } from '../../auth/policy.ts'
import type { Viewer } from '../../auth/viewer.ts'
import type { Database } from '../../db/client.ts'
import { deleteOldLostEmails } from '../../db/outbox.ts'
import {
  boundedOverview,
  countFailures,
  countPeople,
  type DatabaseFacts,
  type FailureCount,
  type PeopleCounts,
  readDatabaseFacts,
} from '../../db/overview.ts'
import { listProviders, type ProviderRecord } from '../../db/providers.ts'
import {
  deleteOldProcesses,
  listProcesses,
  removeProcess,
  renewProcess,
  type ServerProcess,
} from '../../db/server-processes.ts'
import {
  claimUsage,
  deleteOldUsage,
  isAnyUsageDue,
  keptDays,
  listProviderUsage,
  listUsageDays,
  type ProviderUsage,
  storeUsage,
  type UsageDay,
} from '../../db/usage-days.ts'
import { AppError } from '../../errors.ts'
import { FairQueue } from '../../lib/fair-queue.ts'
import { startClaiming, startPolling } from '../../lib/polling.ts'
import { version } from '../../lib/version.ts'
import { throwTooSlow } from '../catalogue/scope.ts'

export { growthDays } from '../../db/usage-days.ts'

export const maxUsageDays = keptDays

/** Milliseconds between two looks for a catalogue to add up. */
const pollInterval = 60_000
/** Milliseconds between two renewals of the row of this process. */
const renewInterval = 30_000

/** One overview occupies a connection to the database, perhaps for seconds. */
const bounds = {
  running: 2,
  runningOfOwner: 1,
  slots: 100,
  slotsOfOwner: 10,
  refusals: { owner: 'You have too many overviews at once', all: 'The server has too many overviews at once' },
}

export interface OverviewStorage {
  provider: ProviderRecord
  /** Null before the files were counted for the first time. */
  usage: ProviderUsage | null
}

export interface Overview {
  people: PeopleCounts
  /** The oldest first. */
  storages: OverviewStorage[]
  failures: FailureCount[]
  server: DatabaseFacts & {
    /** The version of the process that responds. */
    version: string
    processes: ServerProcess[]
    /** The processes that run have several versions of Stowage. */
    hasMixedVersions: boolean
  }
}

export function createOverview({
  db,
  directory,
  isWorking,
  onError,
}: {
  db: Database
  /** The source of the LDAP directory; null for none. */
  directory: string | null
  /** Whether this server works in the background. */
  isWorking: boolean
  onError: (error: unknown) => void
}) {
  const queue = new FairQueue(bounds)
  const counting = isWorking
    ? startClaiming({
        interval: pollInterval,
        atOnce: 1,
        isAnyDue: () => isAnyUsageDue(db),
        claim: () => claimUsage(db),
        work: catalogue => storeUsage(db, catalogue),
        onError,
      })
    : null

  function run<T>({ member }: Viewer, signal: AbortSignal, work: (trx: Database) => Promise<T>): Promise<T> {
    return queue.run(member.userId, signal, () =>
      boundedOverview(db, work).catch(error => throwTooSlow(error, 'try again when the database has less to do')),
    )
  }

  return {
    /** Counts everything in one transaction. @throws SCOPE_REQUIRED, PROVIDER_NOT_ALLOWED, RATE_LIMITED, UNAVAILABLE */
    async read(viewer: Viewer | null, signal: AbortSignal): Promise<Overview> {
      const admin = requireWorkspaceAdmin(viewer)
      const { workspaceId } = admin.member
      return run(admin, signal, async trx => {
        const providers = await listProviders(trx, workspaceId)
        const usage = await listProviderUsage(trx, workspaceId)
        const people = await countPeople(trx, workspaceId)
        const failures = await countFailures(trx, workspaceId, directory)
        const processes = await listProcesses(trx)
        const versions = new Set(processes.filter(({ isAlive }) => isAlive).map(process => process.version))
        return {
          people,
          storages: providers.map(provider => ({ provider, usage: usage.get(provider.id) ?? null })),
          failures,
          server: {
            ...(await readDatabaseFacts(trx)),
            version,
            processes,
            hasMixedVersions: versions.size > 1,
          },
        }
      })
    },

    /**
     * Returns the usage of the storages of the workspace, or of one of them, on each of the last days.
     * @throws SCOPE_REQUIRED, PROVIDER_NOT_ALLOWED, INVALID_INPUT, RATE_LIMITED, UNAVAILABLE
     */
    async usage(
      viewer: Viewer | null,
      { days, providerId }: { days: number; providerId?: string | null | undefined },
      signal: AbortSignal,
    ): Promise<UsageDay[]> {
      const admin = requireWorkspaceAdmin(viewer)
      if (days < 1 || days > maxUsageDays) throw new AppError('INVALID_INPUT', `"days" must be 1 to ${maxUsageDays}.`)
      if (providerId != null && !isId(providerId)) return []
      const asked = { days, providerId: providerId ?? null }
      return run(admin, signal, trx => listUsageDays(trx, admin.member.workspaceId, asked))
    },

    /** Shows that this process serves requests. Returns a function that ends it. */
    announce(): () => Promise<void> {
      const own = { id: randomUUID(), host: hostname(), version, nodeVersion: process.versions.node }
      const renew = () => renewProcess(db, own, process.uptime())
      const polling = startPolling({ interval: renewInterval, search: renew, onError })
      return async () => {
        await polling.stop()
        await removeProcess(db, own.id).catch(onError)
      }
    },

    /** Deletes what is too old. Call it once a day. */
    async sweep(): Promise<void> {
      await Promise.all([deleteOldUsage(db), deleteOldLostEmails(db), deleteOldProcesses(db)])
    },

    /** Ends the work in the background. */
    stop: async () => counting?.stop(),
  }
}
