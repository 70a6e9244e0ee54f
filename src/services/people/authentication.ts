import type { Secrets } from '../../auth/secrets.ts'
import { sessionTokens } from '../../auth/tokens.ts'
import type { Database } from '../../db/client.ts'
import type { FindRecord } from '../../storage/provider-cache.ts'
import { createEntryGuard } from '../entry-metadata/change-guard.ts'
import { createGrantWatch } from '../grant-watch.ts'
import { createLimits, type LimitSettings } from '../limits/index.ts'
import { createQuotaKeeper } from '../quotas/guard.ts'
import { createCredentials } from './credentials.ts'
import { createKeyUsage } from './key-usage.ts'
import { createRightsMemory } from './rights-memory.ts'

export type Authentication = ReturnType<typeof createAuthentication>

/** Creates the services that authenticate requests, watch their grants, and know locks, holds and quotas. Storage depends on it. */
export function createAuthentication(options: {
  db: Database
  secrets: Secrets
  record: FindRecord
  limits: LimitSettings
  onError: (error: unknown) => void
}) {
  const { db, secrets, record, onError } = options
  const tokens = sessionTokens(secrets)
  const usage = createKeyUsage(db, onError)
  const limits = createLimits({ db, settings: options.limits, onError })
  const memory = createRightsMemory(db, onError)
  const credentials = createCredentials({ db, secrets, tokens, usage, limits: limits.requests, memory })
  const grants = createGrantWatch({ record, credentials, onError })
  return {
    tokens,
    limits,
    credentials,
    activeGrants: grants.activeGrants,
    entryGuard: createEntryGuard({ db, memory, onError }),
    quotas: createQuotaKeeper({ db, memory, onError }),
    async close() {
      grants.close()
      await Promise.all([usage.close(), limits.close(), memory.close()])
    },
  }
}
