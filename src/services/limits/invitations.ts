/** Limits the emails that a member sends to others, so that nobody sends spam through the server. */
import type { Database } from '../../db/client.ts'
import { addHits } from '../../db/rate-limits.ts'
import { keyOf, type RateLimit, tooMany } from './rules.ts'

const rule: RateLimit = { name: 'invitations', limit: 100, window: 24 * 60 * 60_000 }

export interface Invitations {
  /** Counts emails to others. @throws RATE_LIMITED */
  countInvitations(userId: string, count: number): Promise<void>
}

export function createInvitations(db: Database): Invitations {
  return {
    async countInvitations(userId, count) {
      if (count === 0) return
      const [total] = await addHits(db, [{ key: keyOf(rule, userId), hits: count, window: rule.window }])
      if (total && total.hits > rule.limit) throw tooMany('Too many emails in one day', total.remaining)
    },
  }
}
