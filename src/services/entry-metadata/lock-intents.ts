/**
 * Locks objects that are being stored. The locks are in the database before the content is at its path, so that a server that is killed
 * in between leaves no object without its lock: another one then finds out whether the content has got there. Uploads to the same path
 * tell each other which contents are theirs, so that none gets the lock of another one.
 */
import { timeOrderedIds } from '../../auth/id.ts'
import { formatPath } from '../../auth/path.ts'
import type { Database } from '../../db/client.ts'
import type { NewEntryHold } from '../../db/entry-holds.ts'
import { findMember } from '../../db/members.ts'
import {
  claimLockIntent,
  deleteLockIntents,
  findLockIntent,
  insertLockIntents,
  isAnyLockIntentDue,
  isSeen,
  noteStored,
  postponeLockIntent,
  renewLockIntents,
  settleLockIntent,
} from '../../db/object-lock-intents.ts'
import { findProviders } from '../../db/providers.ts'
import type { SeenContent } from '../../db/schema.ts'
import { type Reason, toAppError } from '../../errors.ts'
import { LeaseKeeper } from '../../lib/lease-keeper.ts'
import { type Polling, startClaiming } from '../../lib/polling.ts'
import type { Storage } from '../../storage/index.ts'
import type { CheckedEntry } from '../../storage/validate-entry.ts'
import type { Audit } from '../audit/index.ts'
import { statOrNull } from '../files/conflict.ts'

/** Milliseconds: shorter than a lease. */
const heartbeat = 30_000
/** Milliseconds to find out what is at a path. */
const settleTimeout = 30_000
/** Milliseconds between two searches. */
const pollInterval = 20_000
const intentsAtOnce = 4
/** Errors after which nothing can be stored. After any other, such as a revoked key, the call at the back end may still be running. */
const provesAbsence: ReadonlySet<Reason> = new Set([
  'ALREADY_EXISTS',
  'CHECKSUM_MISMATCH',
  'DIGEST_MISMATCH',
  'INCOMPLETE_BODY',
  'INFECTED',
  'INVALID_PATH',
  'NOT_FOUND',
  'PRECONDITION_FAILED',
  'QUOTA_EXCEEDED',
  'TOO_LARGE',
])
const nextId = timeOrderedIds()

export interface LockIntentContext {
  db: Database
  storage: Storage
  audit: Audit
  onError: (error: unknown) => void
}

/** The locks of an object that is being stored; perhaps none. Their lease is renewed until this is disposed of. */
export interface LockIntents extends Disposable {
  /** Call this once the object was stored. */
  stored(content: CheckedEntry): Promise<void>
  /** Ends these locks, in the transaction in which the object gets its own. */
  end(db: Database): Promise<void>
  /** Call this if the object was not stored. If nobody can know that yet, the locks stay, and a server finds out. */
  failed(error: unknown): Promise<void>
  /** Call this if the object was stored and has got no locks. It gets these, wherever it is. */
  settle(): Promise<void>
}

/** @param before what is at the path */
export async function beginLocks(
  context: LockIntentContext,
  at: Pick<NewEntryHold, 'providerId' | 'path'>,
  holds: readonly Omit<NewEntryHold, 'id'>[],
  before: CheckedEntry | null,
): Promise<LockIntents> {
  const { db, onError } = context
  const seen = before && seenAs(before)
  const intents = holds.map(hold => ({ ...hold, id: nextId(new Date()), seen }))
  const ids = intents.map(({ id }) => id)
  await Promise.all([renewLockIntents(db, at), ids.length > 0 && insertLockIntents(db, intents)])
  const lease = new LeaseKeeper({ interval: heartbeat, renew: () => renewLockIntents(db, at) })
  return {
    stored: content => noteStored(db, at, seenAs(content), ids),
    end: tx => deleteLockIntents(tx, ids),
    async failed(error) {
      if (provesAbsence.has(toAppError(error).reason)) await deleteLockIntents(db, ids).catch(onError)
    },
    async settle() {
      const signal = AbortSignal.timeout(settleTimeout)
      await Promise.all(ids.map(id => settle(context, id, signal))).catch(onError)
    },
    [Symbol.dispose]: () => lease[Symbol.dispose](),
  }
}

/** Finishes the locks of uploads that were interrupted. */
export function startLockCollector(context: LockIntentContext): Polling {
  const { db, onError } = context
  return startClaiming({
    interval: pollInterval,
    atOnce: intentsAtOnce,
    isAnyDue: () => isAnyLockIntentDue(db),
    claim: () => claimLockIntent(db),
    async work(id, stopping) {
      try {
        await settle(context, id, AbortSignal.any([stopping, AbortSignal.timeout(settleTimeout)]))
      } catch (error) {
        if (stopping.aborted) return
        onError(error)
        await postponeLockIntent(db, id)
      }
    },
    onError,
  })
}

/** Locks what is at the path unless it was there before the upload, and what has become a version since. */
async function settle({ db, storage, audit }: LockIntentContext, id: string, signal: AbortSignal) {
  const intent = await findLockIntent(db, id)
  if (!intent) return
  const { workspaceId, providerId, path, userId, objectLock, until } = intent
  const [provider] = await findProviders(db, [providerId])
  if (!provider) return
  const present = await statOrNull((await storage.reader(provider)).at(path), signal)
  const isStored = present?.kind === 'file' && !intent.seen.some(seen => isSeen(present, seen))
  if (!(await settleLockIntent(db, intent, { isStored }))) return
  const details =
    objectLock === 'LEGAL_HOLD' ? { legalHold: true } : { retention: objectLock, until: until?.toISOString() }
  const user = userId === null ? null : await findMember(db, workspaceId, userId)
  if (user) audit.noteOwn('HOLD_CREATE', { location: { providerId, path: formatPath(path) }, user, details }, 'OK')
}

function seenAs({ size, etag, contentTag, modifiedAt }: CheckedEntry): SeenContent {
  return { size, etag, contentTag: contentTag ?? null, modifiedAt: modifiedAt?.getTime() ?? null }
}
