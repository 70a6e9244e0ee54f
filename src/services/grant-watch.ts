/**
 * Before each step of work a grant that is older than a second is decided on anew; and this ends what is under way once the grant that it began with is no longer given: its key was revoked or has expired, its
 * session has ended, its member was removed or reaches less, its provider is gone. On every replica alike, as each looks
 * into the database for itself: some times a second and only while something is under way, however much that is with one
 * query for all keys, one for all sessions and one for all providers.
 */
import { type Grant, grant } from '../auth/policy.ts'
import type { Viewer } from '../auth/viewer.ts'
import { AppError } from '../errors.ts'
import { ActiveGrants, type Work } from '../storage/active-grants.ts'
import type { FindRecord } from '../storage/records.ts'
import { type Credentials, requireUnexpired } from './people/credentials.ts'

/** Milliseconds between two looks; with the query, what was taken away is cut within a second. */
const interval = 400
/** Milliseconds that a database may be away before nobody can say any more who may do what. */
const patience = 60_000

export interface GrantWatch {
  /** The work that is watched. */
  readonly activeGrants: ActiveGrants
  close(): void
}

export function createGrantWatch(options: {
  record: FindRecord
  credentials: Pick<Credentials, 'confirm' | 'recall'>
  onError: (error: unknown) => void
}): GrantWatch {
  const { record, credentials, onError } = options
  const activeGrants = new ActiveGrants({ confirm, onFirst })
  let timer: NodeJS.Timeout | undefined
  let isLooking = false
  let lookedAt = 0
  /** When everything was last known to hold. */
  let confirmedAt = 0

  async function look(): Promise<void> {
    isLooking = true
    const beganAt = performance.now()
    lookedAt = beganAt
    const viewers = remembered((viewer: Viewer) => credentials.recall(viewer))
    const providers = remembered((granted: Grant) => requireConnected(record, granted))
    const check = async (work: Work) => {
      try {
        for (const granted of work.grants) {
          const viewer = await viewers(`${granted.viewer.kind} ${granted.viewer.credentialId}`, granted.viewer)
          const { scope, providerId, path } = granted
          grant(viewer, { scope, providerId, path })
          await providers(`${granted.workspaceId} ${providerId}`, granted)
        }
      } catch (error) {
        if (!(error instanceof AppError)) throw error
        work.cancel(error)
      }
    }
    try {
      await Promise.all(Array.from(activeGrants, check))
      confirmedAt = beganAt
    } catch (error) {
      // Not known is not revoked: the next look is soon.
      onError(error)
    } finally {
      isLooking = false
    }
  }

  function tick(): void {
    timer = undefined
    if (activeGrants.size === 0) return
    // What ends by the clock does not wait for a database.
    for (const work of activeGrants) cancelIfExpired(work)
    const now = performance.now()
    if (now - confirmedAt > patience) {
      for (const work of activeGrants)
        work.cancel(new AppError('UNAVAILABLE', 'The database does not answer: try again.'))
    }
    if (!isLooking && now - lookedAt >= interval / 2) void look()
    timer = setTimeout(tick, Math.min(interval, untilNextExpiry(activeGrants))).unref()
  }

  /** What runs goes on for as long as `tick` lets it. */
  function isKnown(viewer: Viewer): boolean {
    if (performance.now() - confirmedAt > patience) return false
    return Array.from(activeGrants).some(({ grants }) => grants.some(granted => granted.viewer === viewer))
  }

  async function confirm({ viewer, scope, providerId, path }: Grant): Promise<void> {
    const now = await credentials.confirm(viewer).catch(error => {
      if (error instanceof AppError || !isKnown(viewer)) throw error
      return viewer
    })
    if (now !== viewer) grant(now, { scope, providerId, path })
  }

  function onFirst(): void {
    if (timer) return
    confirmedAt = performance.now()
    timer = setTimeout(tick, Math.min(interval, untilNextExpiry(activeGrants))).unref()
  }

  return { activeGrants, close: () => clearTimeout(timer) }
}

function cancelIfExpired(work: Work): void {
  try {
    for (const { viewer } of work.grants) requireUnexpired(viewer)
  } catch (error) {
    work.cancel(error)
  }
}

/** Not as NOT_FOUND, which steps of the work take for a file that is gone. @throws PROVIDER_NOT_ALLOWED */
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
  for (const { grants } of works) {
    for (const { viewer } of grants) next = Math.min(next, viewer.expiresAt?.getTime() ?? next)
  }
  return Math.max(1, next - Date.now())
}

/** Asks once for each key. */
function remembered<Input, Answer>(ask: (input: Input) => Promise<Answer>) {
  const known = new Map<string, Promise<Answer>>()
  return (key: string, input: Input): Promise<Answer> => {
    const answer = known.get(key) ?? ask(input)
    known.set(key, answer)
    return answer
  }
}
