/**
 * The limits of requests, of sign-ins and of emails to others. Callers count before they work; past a limit, they get
 * RATE_LIMITED.
 */
import type { Database } from '../../db/client.ts'
import { addHits, deleteEndedRateLimits } from '../../db/rate-limits.ts'
import { createMeters, keyOf, type RateLimit, tooMany } from './meters.ts'
import { createRequestLimits, type RequestLimits } from './requests.ts'
import { createSignIns, type SignIns } from './sign-ins.ts'

export interface LimitSettings {
  /** The maximum per credential; 0 disables all limits on requests. */
  requestsPerMinute: number
  /** The maximum of failed logins from one network in ten minutes; 0 disables all limits on signing in. */
  signIns: number
}

export interface Limits {
  requests: RequestLimits
  signIns: SignIns
  invitations: Invitations
  /** Stops the timers and waits for running statements. */
  close(): Promise<void>
}

/** Milliseconds between two sweeps of ended windows. */
const sweepInterval = 5 * 60_000

export function createLimits({
  db,
  settings,
  onError,
}: {
  db: Database
  settings: LimitSettings
  onError: (error: unknown) => void
}): Limits {
  const meters = createMeters(db, onError)
  let sweeping: Promise<void> | undefined
  const sweeper = setInterval(() => {
    sweeping ??= deleteEndedRateLimits(db)
      .catch(onError)
      .finally(() => {
        sweeping = undefined
      })
  }, sweepInterval).unref()
  return {
    requests: createRequestLimits(settings.requestsPerMinute, meters.meter),
    signIns: createSignIns({ db, limit: settings.signIns, onError }),
    invitations: createInvitations(db),
    async close() {
      clearInterval(sweeper)
      await Promise.all([meters.close(), sweeping])
    },
  }
}

const rule: RateLimit = { name: 'invitations', limit: 100, window: 24 * 60 * 60_000 }

export interface Invitations {
  /** Counts emails to others. @throws RATE_LIMITED */
  countInvitations(userId: string, count: number): Promise<void>
}

function createInvitations(db: Database): Invitations {
  return {
    async countInvitations(userId, count) {
      if (count === 0) return
      const [total] = await addHits(db, [{ key: keyOf(rule, userId), hits: count, window: rule.window }])
      if (total && total.hits > rule.limit) throw tooMany('Too many emails in one day', total.remaining)
    },
  }
}
