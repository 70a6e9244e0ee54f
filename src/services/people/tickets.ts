/** Values that this server gives to a browser and gets back: they are signed, and expire. */
import type { Secrets } from '../../auth/secrets.ts'

/** Each kind of value has its own signature. */
type TicketKind = 'pending' | 'link' | 'ticket' | 'test' | 'sign-out'

interface Expiring {
  /** Milliseconds since 1970. */
  expiresAt: number
}

export function createTickets(secrets: Secrets) {
  return {
    sign: <T extends Expiring>(kind: TicketKind, value: T): string =>
      secrets.sign('sign-in', JSON.stringify(value), kind),

    /** Returns a value that this server has signed and that has not expired; null otherwise. */
    open<T extends Expiring>(kind: TicketKind, signed: string | null): T | null {
      const text = signed === null ? null : secrets.verify('sign-in', signed, kind)
      const value = text === null ? null : (JSON.parse(text) as T)
      return value && value.expiresAt > Date.now() ? value : null
    },
  }
}
