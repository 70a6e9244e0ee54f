/** Starts sessions after a login or a registration. */
import type { SessionTokens } from '../../auth/session-token.ts'
import type { Member, Origin } from '../../auth/viewer.ts'
import type { Change } from '../../db/client.ts'
import { insertSession } from '../../db/sessions.ts'
import { AppError } from '../../errors.ts'
import { cut } from '../audit/event.ts'
import type { Recording } from '../audit/index.ts'

/** Milliseconds: a week. */
const sessionLifetime = 7 * 24 * 60 * 60 * 1000
/** Characters of the longest IPv6 address. A misconfigured proxy may send any text. */
const maxAddress = 45
const maxUserAgent = 255

export interface SignedIn {
  token: string
  expiresAt: Date
  member: Member
}

/**
 * Starts a session in the transaction of `recording`.
 * @param passwordHash of the verified password
 * @throws WRONG_EMAIL_OR_PASSWORD if the password was changed meanwhile
 */
export async function startSession(
  tokens: SessionTokens,
  change: Change,
  recording: Recording,
  member: Member,
  passwordHash: string,
  { address, userAgent }: Origin,
): Promise<SignedIn> {
  const { userId, workspaceId } = member
  const expiresAt = wholeSecond(Date.now() + sessionLifetime)
  const seen = {
    address: address.slice(0, maxAddress),
    userAgent: userAgent ? cut(userAgent.slice(0, maxUserAgent)) : null,
  }
  const sid = await insertSession(change, { workspaceId, userId, passwordHash, expiresAt, ...seen })
  if (sid === null) throw wrongPassword()
  recording.add({ user: member, credential: { kind: 'SESSION', id: sid } })
  return { token: tokens.sign({ sub: userId, sid }, expiresAt), expiresAt, member }
}

export function wrongPassword(): AppError {
  return new AppError('WRONG_EMAIL_OR_PASSWORD', 'The email or the password is wrong.')
}

/** JWT times are whole seconds. */
function wholeSecond(time: number): Date {
  return new Date(Math.ceil(time / 1000) * 1000)
}

/** Omits text without "@", which could be a password typed into the wrong field. */
export function emailIn({ email }: { email: string }): { email?: string } {
  return email.includes('@') ? { email: cut(email) } : {}
}
