/** The claims of an issuer in its tokens: who a person is, and whose sessions end. */
import { AppError } from '../../errors.ts'

/** A person, as the issuer describes them. */
export interface IssuedIdentity {
  issuer: string
  /** Permanent at the issuer. */
  subject: string
  email: string | null
  /** Whether the issuer says that the email is theirs. */
  isEmailVerified: boolean
  name: string | null
  /** The session at the issuer; null if it names none. */
  issuerSession: string | null
  /** When they last proved who they are at the issuer; null if it does not say. */
  authenticatedAt: Date | null
  /** The names of their groups; null if groups do not follow the issuer. */
  groups: readonly string[] | null
}

/** Whose sessions end, according to the issuer: those of a person, of one of their sessions there, or both. */
export interface IssuedLogout {
  issuer: string
  subject: string | null
  issuerSession: string | null
  /** Each message has its own. */
  id: string
}

/** OpenID Connect Core, section 2: at most 255 ASCII characters. */
const subjectPattern = /^[\x20-\x7e]{1,255}$/
const maxText = 254
/** Seconds since 1970: the year 9999. */
const maxTime = 253_370_764_800
/** The maximum number of groups of a person at the issuer. */
const maxGroups = 1000

/** Returns a claim, or null for what no account could have. */
export function textOf(value: unknown): string | null {
  const isText = typeof value === 'string' && value !== '' && value.length <= maxText
  return isText && value.isWellFormed() && !value.includes('\0') ? value : null
}

/** The event of a logout token, and of no other token of an issuer. */
const logoutEvent = 'http://schemas.openid.net/event/backchannel-logout'

/** @throws INVALID_INPUT */
export function logoutOf(issuer: string, { sub, sid, jti, events, nonce }: Record<string, unknown>): IssuedLogout {
  const isLogout = typeof events === 'object' && events !== null && Object.hasOwn(events, logoutEvent)
  const subject = textOf(sub)
  const issuerSession = textOf(sid)
  const id = textOf(jti)
  if (!isLogout || nonce !== undefined || id === null || (subject === null && issuerSession === null)) {
    throw new AppError('INVALID_INPUT', 'The token is no logout token.')
  }
  return { issuer, subject, issuerSession, id }
}

/** @throws AppError for claims that no account could have */
export function identityOf(
  issuer: string,
  claims: Record<string, unknown>,
  groupsClaim: string | null,
): IssuedIdentity {
  const { sub, email, name, sid, email_verified: isVerified, auth_time: seconds } = claims
  if (typeof sub !== 'string' || !subjectPattern.test(sub)) {
    throw new AppError('SIGN_IN_REFUSED', 'The issuer named no valid subject.')
  }
  return {
    issuer,
    subject: sub,
    email: textOf(email),
    // Some issuers send text.
    isEmailVerified: isVerified === true || isVerified === 'true',
    name: textOf(name),
    issuerSession: textOf(sid),
    authenticatedAt: typeof seconds === 'number' && seconds > 0 && seconds < maxTime ? new Date(seconds * 1000) : null,
    groups:
      groupsClaim === null
        ? null
        : [(Object.hasOwn(claims, groupsClaim) ? claims[groupsClaim] : null) ?? []]
            .flat()
            .flatMap(group => textOf(group) ?? [])
            .slice(0, maxGroups),
  }
}
