/**
 * The limits of requests, of sign-ins, of emails to others, of push notifications and of applications that register. Callers count before they work; past a
 * limit, they get RATE_LIMITED.
 */
import { networkOf } from '../../auth/network.ts'
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
  push: PushLimit
  registrations: RegistrationLimit
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
    push: createPushLimit(db),
    registrations: createRegistrationLimit(db, settings.signIns),
    async close() {
      clearInterval(sweeper)
      await Promise.all([meters.close(), sweeping])
    },
  }
}

const invitationRule: RateLimit = { name: 'invitations', limit: 100, window: 24 * 60 * 60_000 }

export interface Invitations {
  /** Counts emails to others. @throws RATE_LIMITED */
  countInvitations(userId: string, count: number): Promise<void>
}

function createInvitations(db: Database): Invitations {
  return {
    async countInvitations(userId, count) {
      if (count > 0) await countHits(db, invitationRule, userId, count, 'Too many emails in one day')
    },
  }
}

/** Browsers that a member registers for notifications, and tests of them: each makes this server connect to a push service. */
const pushRule: RateLimit = { name: 'push', limit: 60, window: 60 * 60_000 }

export interface PushLimit {
  /** Counts a registration or a test. @throws RATE_LIMITED */
  countPush(userId: string): Promise<void>
}

function createPushLimit(db: Database): PushLimit {
  return { countPush: userId => countHits(db, pushRule, userId, 1, 'Too many changes of notifications in one hour') }
}

/** Applications that register from one network. Each person who adds this server to an application needs one. */
const registrationRule: RateLimit = { name: 'applications', limit: 100, window: 60 * 60_000 }

export interface RegistrationLimit {
  /** Counts the registration of an application, valid or not. @throws RATE_LIMITED */
  countApplication(address: string): Promise<void>
}

/** @param signIns 0 disables the limit */
function createRegistrationLimit(db: Database, signIns: number): RegistrationLimit {
  return {
    async countApplication(address) {
      if (signIns === 0) return
      await countHits(db, registrationRule, networkOf(address), 1, 'Too many new applications from this address')
    },
  }
}

/** @throws RATE_LIMITED */
async function countHits(db: Database, rule: RateLimit, owner: string, hits: number, refusal: string): Promise<void> {
  const [total] = await addHits(db, [{ key: keyOf(rule, owner), hits, window: rule.window }])
  if (total && total.hits > rule.limit) throw tooMany(refusal, total.remaining)
}
