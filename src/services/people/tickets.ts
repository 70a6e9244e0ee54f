/** Values that this server gives to a browser and gets back: they are signed, and expire. */
import type { Secrets } from '../../auth/secrets.ts'

/** Milliseconds that a person has for the issuer's page, and then to confirm a link. */
export const signInLifetime = 10 * 60 * 1000

/** Each kind of value has its own signature. */
type TicketKind = 'pending' | 'link' | 'ticket' | 'test' | 'sign-out'

interface Expiring {
  /** Milliseconds since 1970. */
  expiresAt: number
}

/** A link with an identity that has begun. */
export interface LinkStart extends Expiring {
  linker: string
}

/** An identity that somebody may link. */
export interface LinkTicket extends LinkStart {
  issuerId: string
  /** The version of the issuer. */
  version: number
  issuer: string
  subject: string
  email: string | null
}

/** Names who may complete a link: the session that has begun it, or whoever has the invite. */
export function linkerOf(by: { sessionId: string } | { inviteHash: Buffer }): string {
  return 'sessionId' in by ? `session ${by.sessionId}` : `invite ${by.inviteHash.toString('hex')}`
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
