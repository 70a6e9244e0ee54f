import { setTimeout as sleep } from 'node:timers/promises'
import { childOf, formatPath, type StoragePath, trashFolder } from '../../auth/path.ts'
import type { Secrets } from '../../auth/secrets.ts'
import type { Database } from '../../db/client.ts'
import { findMember } from '../../db/members.ts'
import { findProviders } from '../../db/providers.ts'
import { claimAbandonedUpload } from '../../db/uploads/leases.ts'
import type { UploadRecord } from '../../db/uploads/record.ts'
import type { Storage } from '../../storage/index.ts'
import type { Audit, AuditFacts } from '../audit/index.ts'
import { isMissing } from '../files/conflict.ts'
import { openState } from './active-upload.ts'
import { type Leases, pollInterval } from './lease.ts'

export interface SweepContext {
  db: Database
  secrets: Secrets
  storage: Storage
  leases: Leases
  audit: Audit
  onError: (error: unknown) => void
}

/**
 * Aborts orphaned uploads at their back ends, then deletes their rows. With `providerId`, aborts all uploads to that
 * provider and asks running requests to release their leases. Several servers may run it at once.
 * @param time milliseconds after which no further upload is processed
 * @param signal ends the sweep when it aborts
 */
export async function sweep(
  context: SweepContext,
  { providerId, time = Number.POSITIVE_INFINITY, signal }: { providerId?: string; time?: number; signal?: AbortSignal },
): Promise<void> {
  const { db, leases, onError } = context
  const failed: string[] = []
  const until = performance.now() + time
  while (performance.now() < until && !signal?.aborted) {
    await using lease = await leases.takeAny(id => claimAbandonedUpload(db, id, { providerId, except: failed }))
    if (!lease && providerId !== undefined && (await leases.wantAll(providerId, failed))) {
      await sleep(pollInterval)
      continue
    }
    if (!lease) return
    const { record } = lease
    const isFree = await abortAtBackEnd(context, record, signal).then(
      () => true,
      error => {
        if (!signal?.aborted) onError(error)
        return false
      },
    )
    if (!isFree && signal?.aborted) return
    if (isFree) await lease.delete()
    else if (!(await lease.deleteLongExpired())) {
      // The next sweep tries again.
      failed.push(record.id)
      continue
    }
    await noteEnded(context, record)
  }
}

/** Records the owner and the credential of an upload that its client did not end, but no address. */
export async function noteEnded(
  { db, audit }: Pick<SweepContext, 'db' | 'audit'>,
  record: UploadRecord,
): Promise<void> {
  if (!isUnfinished(record)) return
  const member = await findMember(db, record.workspaceId, record.userId)
  const credential = { kind: record.credentialKind, id: record.credentialId }
  audit.noteUnfinished(null, 'UPLOAD', { ...unfinishedFacts(record), credential, ...(member && { user: member }) })
}

/** Returns whether the upload received bytes that never became a file. */
export function isUnfinished({ storedPath, received }: UploadRecord): boolean {
  return storedPath === null && received > 0
}

/** Describes an unfinished upload for the audit log. */
export function unfinishedFacts({ providerId, path, received, size, conflict }: UploadRecord): AuditFacts {
  const location = { providerId, path: formatPath(path as StoragePath) }
  return { location, bytes: received, details: { conflict, size } }
}

/** Deletes what the back end stores of an unfinished upload. */
export async function abortAtBackEnd(
  { db, secrets, storage }: Pick<SweepContext, 'db' | 'secrets' | 'storage'>,
  record: UploadRecord,
  signal: AbortSignal | null = null,
): Promise<void> {
  if (!record.sealedState) return
  try {
    const [provider] = await findProviders(db, [record.providerId])
    if (!provider) return
    const opened = await storage.provider(provider)
    // The file may be complete, and wait for its scan. It goes first, because a state of another secret cannot be opened any more.
    if (record.isScanned) await storage.ask(signal, call => opened.delete(childOf(trashFolder, record.id), call))
    const state = openState(secrets, record)
    await storage.ask(signal, async call => opened.resumable?.abort(state, call))
  } catch (error) {
    if (!isMissing(error)) throw error
  }
}
