/**
 * Decides about versions whose change was interrupted, by looking where the content is, and deletes the content of expired ones. One
 * server at a time works on a version.
 */
import { childOf, trashFolder } from '../../auth/path.ts'
import type { Database } from '../../db/client.ts'
import {
  claimVersion,
  deleteVersionRow,
  type EarlierVersion,
  isAnyVersionDue,
  markKept,
  postponeHeldVersion,
  postponeVersion,
  renewVersion,
} from '../../db/file-versions.ts'
import { findProviders } from '../../db/providers.ts'
import { forgetTrashedFiles } from '../../db/quotas/changes.ts'
import { LeaseKeeper } from '../../lib/lease-keeper.ts'
import { type Polling, startClaiming } from '../../lib/polling.ts'
import type { Storage } from '../../storage/index.ts'
import type { ProviderReader } from '../../storage/provider-reader.ts'
import type { CheckedEntry } from '../../storage/validate-entry.ts'
import { statOrNull } from '../files/conflict.ts'

/** Milliseconds: shorter than a lease. */
const heartbeat = 30_000
/** Milliseconds to find out where a content is. */
const settleTimeout = 60_000
/** Milliseconds after which no killed or paused server changes a file any more. */
const longestChange = 24 * 60 * 60 * 1000
/** Milliseconds between two searches. */
const pollInterval = 20_000
const versionsAtOnce = 4

export interface VersionContext {
  db: Database
  storage: Storage
  onError: (error: unknown) => void
}

/** Renews the lease of a version until it is disposed of. */
export function keepVersionLease(db: Database, { id }: EarlierVersion): Disposable {
  return new LeaseKeeper({ interval: heartbeat, renew: () => renewVersion(db, id) })
}

export function startVersionCollector(context: VersionContext): Polling {
  const { db, onError } = context
  return startClaiming({
    interval: pollInterval,
    atOnce: versionsAtOnce,
    isAnyDue: () => isAnyVersionDue(db),
    claim: () => claimVersion(db),
    work: (version, signal) => collectOne(context, version, signal),
    onError,
  })
}

/** A failure is often one of the back end, so the next attempt is later. */
async function collectOne(context: VersionContext, version: EarlierVersion, signal: AbortSignal): Promise<void> {
  const { db, onError } = context
  using _lease = keepVersionLease(db, version)
  try {
    if (version.state === 'REMOVING') await remove(context, version, signal)
    // It has expired and is on hold.
    else if (version.state === 'KEPT') await postponeHeldVersion(db, version)
    else await settleVersion(context, version, AbortSignal.any([signal, AbortSignal.timeout(settleTimeout)]))
  } catch (error) {
    if (signal.aborted) return
    onError(error)
    await postponeVersion(db, version)
  }
}

async function remove({ db, storage }: VersionContext, version: EarlierVersion, signal: AbortSignal): Promise<void> {
  const [provider] = await findProviders(db, [version.providerId])
  if (!provider) return
  await (await storage.trash(provider)).remove({ id: version.id, nativeId: null }, signal)
  await forgetTrashedFiles(db, version.providerId, childOf(trashFolder, version.id))
  await deleteVersionRow(db, version.id)
}

/**
 * Lists a version whose content is in the reserved folder. If the content is not there, or the file was never replaced, deletes the version
 * as soon as no call that may still be running can change that.
 */
export async function settleVersion(
  context: VersionContext,
  version: EarlierVersion,
  signal: AbortSignal,
): Promise<void> {
  const { db, storage } = context
  const [provider] = await findProviders(db, [version.providerId])
  if (!provider) return
  const reader = await storage.reader(provider)
  const content = await statOrNull(reader.at(childOf(trashFolder, version.id)), signal)
  if (content && !(await isCurrent(reader, version, content, signal))) {
    const isKnown = content.fileId !== null || version.etag !== null || version.state !== 'KEEPING'
    await markKept(db, version, knownOf(version, content), null, { endsLocks: isKnown })
    return
  }
  if (version.state === 'RESTORING' && !content) return deleteVersionRow(db, version.id)
  if (Date.now() - version.replacedAt.getTime() <= longestChange) return postponeVersion(db, version)
  if (content) await remove(context, version, signal)
  else await deleteVersionRow(db, version.id)
}

/** Returns whether the file at the path is still the one that the version was kept of. */
async function isCurrent(
  reader: ProviderReader,
  { path, state, etag }: EarlierVersion,
  content: CheckedEntry,
  signal: AbortSignal,
): Promise<boolean> {
  if (state !== 'KEEPING') return false
  const current = await statOrNull(reader.at(path), signal)
  if (current?.kind !== 'file') return false
  return (content.fileId !== null && content.fileId === current.fileId) || (etag !== null && etag === current.etag)
}

/** A copy has a time and an etag of its own, so what was noted before counts. */
function knownOf({ modifiedAt, etag }: EarlierVersion, { size, ...content }: CheckedEntry) {
  return { size, modifiedAt: modifiedAt ?? content.modifiedAt, etag: etag ?? content.etag }
}
