import { isId } from '../auth/id.ts'
import type { Grant } from '../auth/policy.ts'
import { batched } from '../db/batched.ts'
import type { Database } from '../db/client.ts'
import { type ProviderRecord, prepareProviders } from '../db/providers.ts'
import { AppError } from '../errors.ts'

/** Finds the record behind a grant. @throws NOT_FOUND */
export type FindRecord = (grant: Pick<Grant, 'providerId' | 'workspaceId'>) => Promise<ProviderRecord>

/** Concurrent lookups share one query. */
export function createFindRecord(db: Database): FindRecord {
  const findProviders = prepareProviders(db)
  const find = batched(async (ids: readonly string[]) => {
    return new Map((await findProviders(ids)).map(record => [record.id, record]))
  })
  return async ({ providerId, workspaceId }) => {
    const found = isId(providerId) ? await find(providerId) : null
    if (found?.workspaceId !== workspaceId) throw new AppError('NOT_FOUND', 'There is no such provider.')
    return found
  }
}
