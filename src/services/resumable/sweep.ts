import { setTimeout as sleep } from 'node:timers/promises'
import type { Secrets } from '../../auth/secrets.ts'
import type { Database } from '../../db/client.ts'
import { findProviders } from '../../db/providers.ts'
import { takeDeadUpload, type UploadRecord } from '../../db/uploads.ts'
import type { Storage } from '../../storage/host.ts'
import { isMissing } from '../files/conflict.ts'
import { type Leases, pollInterval } from './lease.ts'
import { open } from './target.ts'

/** Milliseconds after which the row goes although the back end has not answered in all that time. */
const longEnough = 7 * 24 * 60 * 60 * 1000

export interface SweepContext {
  db: Database
  secrets: Secrets
  storage: Storage
  leases: Leases
  onError: (error: unknown) => void
}

/**
 * Frees what unfinished uploads hold at their back ends, then their rows: of those that nobody can go on with, or of all
 * of a provider, for which those who are at work are asked to let go. Several servers may do it at once.
 * @param time milliseconds after which no more are begun
 */
export async function sweep(
  context: SweepContext,
  { providerId, time = Number.POSITIVE_INFINITY }: { providerId?: string; time?: number } = {},
): Promise<void> {
  const { db, leases, onError } = context
  const failed: string[] = []
  const until = performance.now() + time
  while (performance.now() < until) {
    await using lease = await leases.takeAny(id => takeDeadUpload(db, id, { providerId, except: failed }))
    if (!lease && providerId !== undefined && (await leases.wantAll(providerId))) {
      await sleep(pollInterval)
      continue
    }
    if (!lease) return
    const { record } = lease
    try {
      await giveUp(context, record)
    } catch (error) {
      onError(error)
      if (record.expiresAt.getTime() > Date.now() - longEnough) {
        failed.push(record.id)
        continue
      }
    }
    await lease.delete()
  }
}

/** Frees what the back end holds of an upload. */
export async function giveUp(
  { db, secrets, storage }: Pick<SweepContext, 'db' | 'secrets' | 'storage'>,
  record: UploadRecord,
): Promise<void> {
  if (!record.sealedState) return
  try {
    const state = open(secrets, record)
    const [provider] = await findProviders(db, [record.providerId])
    if (!provider) return
    const { resumable } = await storage.provider(provider)
    await storage.ask(null, async call => resumable?.abort(state, call))
  } catch (error) {
    if (!isMissing(error)) throw error
  }
}
