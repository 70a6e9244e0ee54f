/**
 * Cancels work whose grant has ended: its key was revoked or has expired, its session ended, its member was removed or lost
 * access, or its provider was disconnected. Every replica polls the database several times a second while work is running,
 * with one query for all keys, one for all sessions and one for all providers. In addition, each step of work renews a
 * grant that is older than a second.
 */
import { type Grant, grant } from '../auth/policy.ts'
import type { Viewer } from '../auth/viewer.ts'
import { AppError } from '../errors.ts'
import { ActiveGrants, type Work } from '../storage/active-grants.ts'
import type { FindRecord } from '../storage/provider-cache.ts'
import type { Credentials } from './people/credentials.ts'
import { requireUnexpired } from './people/usable-credentials.ts'

/** Milliseconds between two polls. With the query, work is canceled within a second of losing its grant. */
const interval = 400
/** Milliseconds for which work continues while the database is unreachable and grants cannot be checked. */
const offlineTimeout = 60_000

export interface GrantWatch {
  /** The grants of running work. */
  readonly activeGrants: ActiveGrants
  close(): void
}

export function createGrantWatch(options: {
  record: FindRecord
  credentials: Pick<Credentials, 'confirm' | 'recallViewer'>
  onError: (error: unknown) => void
}): GrantWatch {
  const { record, credentials, onError } = options
  const activeGrants = new ActiveGrants({ confirm, onFirst })
  let timer: NodeJS.Timeout | undefined
  let isPolling = false
  let polledAt = 0
  /** The time at which all grants were last confirmed. */
  let confirmedAt = 0

  async function poll(): Promise<void> {
    isPolling = true
    const beganAt = performance.now()
    polledAt = beganAt
    const viewers = memoized((viewer: Viewer) => credentials.recallViewer(viewer))
    const providers = memoized((granted: Grant) => requireConnected(record, granted))
    const check = async (work: Work) => {
      try {
        for (const granted of work.grants) {
          const viewer = await viewers(keyOf(granted.viewer), granted.viewer)
          grant(viewer, granted)
          await providers(`${granted.workspaceId} ${granted.providerId}`, granted)
        }
        if (work.watched) work.watched.confirmed(await viewers(keyOf(work.watched.viewer), work.watched.viewer))
      } catch (error) {
        if (!(error instanceof AppError)) throw error
        work.cancel(error)
      }
    }
    try {
      await Promise.all(Array.from(activeGrants, check))
      confirmedAt = beganAt
    } catch (error) {
      // A failed query revokes nothing: the next poll is soon.
      onError(error)
    } finally {
      isPolling = false
    }
  }

  function tick(): void {
    timer = undefined
    if (activeGrants.size === 0) return
    // Expiry needs no database.
    for (const work of activeGrants) cancelIfExpired(work)
    const now = performance.now()
    if (now - confirmedAt > offlineTimeout) {
      for (const work of activeGrants)
        work.cancel(new AppError('UNAVAILABLE', 'The database does not respond: try again.'))
    }
    if (!isPolling && now - polledAt >= interval / 2) void poll()
    timer = setTimeout(tick, Math.min(interval, untilNextExpiry(activeGrants))).unref()
  }

  /** Returns whether the viewer has running work. It continues until `tick` cancels it. */
  function isKnown(viewer: Viewer): boolean {
    if (performance.now() - confirmedAt > offlineTimeout) return false
    return Array.from(activeGrants).some(({ grants }) => grants.some(granted => granted.viewer === viewer))
  }

  async function confirm(granted: Grant): Promise<void> {
    const { viewer } = granted
    const now = await credentials.confirm(viewer).catch(error => {
      if (error instanceof AppError || !isKnown(viewer)) throw error
      return viewer
    })
    if (now !== viewer) grant(now, granted)
  }

  function onFirst(): void {
    if (timer) return
    confirmedAt = performance.now()
    timer = setTimeout(tick, Math.min(interval, untilNextExpiry(activeGrants))).unref()
  }

  return { activeGrants, close: () => clearTimeout(timer) }
}

function keyOf({ kind, credentialId, outlivesSession, member, openedBy }: Viewer): string {
  if (outlivesSession) return `MEMBER ${member.workspaceId} ${member.userId}`
  return `${kind} ${credentialId} ${openedBy?.sessionId ?? ''}`
}

function viewersOf({ grants, watched }: Work): Viewer[] {
  return [...grants.map(({ viewer }) => viewer), ...(watched ? [watched.viewer] : [])]
}

function cancelIfExpired(work: Work): void {
  try {
    for (const viewer of viewersOf(work)) requireUnexpired(viewer)
  } catch (error) {
    work.cancel(error)
  }
}

/** Avoids NOT_FOUND, which the running work would mistake for a missing file. @throws PROVIDER_NOT_ALLOWED */
async function requireConnected(record: FindRecord, granted: Grant): Promise<void> {
  try {
    await record(granted)
  } catch (cause) {
    if (!(cause instanceof AppError)) throw cause
    throw new AppError('PROVIDER_NOT_ALLOWED', 'The provider is no longer connected.', { cause })
  }
}

/** Milliseconds, at least 1. */
function untilNextExpiry(works: Iterable<Work>): number {
  let next = Number.POSITIVE_INFINITY
  for (const work of works) {
    for (const { expiresAt } of viewersOf(work)) next = Math.min(next, expiresAt?.getTime() ?? next)
  }
  return Math.max(1, next - Date.now())
}

/** Returns a function that calls `load` once per key. */
function memoized<Input, Result>(load: (input: Input) => Promise<Result>) {
  const known = new Map<string, Promise<Result>>()
  return (key: string, input: Input): Promise<Result> => {
    const result = known.get(key) ?? load(input)
    known.set(key, result)
    return result
  }
}
