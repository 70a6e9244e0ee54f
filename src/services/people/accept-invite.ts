/** Redeems an invite if the person or the key that made it could still make it. */
import { hashToken } from '../../auth/api-key.ts'
import { requireMayAssign } from '../../auth/policy.ts'
import { type Member, memberViewer, type Origin, type Viewer } from '../../auth/viewer.ts'
import { findApiKey } from '../../db/api-keys.ts'
import type { Change } from '../../db/client.ts'
import { redeemInvite } from '../../db/invites.ts'
import { findMember } from '../../db/members.ts'
import { AppError } from '../../errors.ts'
import { apiKeyState } from './api-keys.ts'

/** @throws INVALID_INVITE */
export async function acceptInvite(trx: Change, token: string, origin: Origin) {
  const invite = await redeemInvite(trx, hashToken(token))
  const maker = invite?.createdBy ? await findMember(trx, invite.workspaceId, invite.createdBy) : null
  if (!invite || !maker) throw new AppError('INVALID_INVITE')
  requireStillCovers(memberViewer(maker, maker.userId, origin), invite)
  // An invite made by a key is valid only while the key is.
  const key = invite.apiKeyId === null ? null : await findApiKey(trx, invite.workspaceId, invite.apiKeyId)
  if (key && apiKeyState(key) !== 'active') throw new AppError('INVALID_INVITE')
  return { workspaceId: invite.workspaceId, role: invite.role, access: invite.access }
}

/** Checks that the maker of an invite could still make it. @throws INVALID_INVITE */
function requireStillCovers(maker: Viewer, given: Pick<Member, 'role' | 'access'>): void {
  try {
    requireMayAssign(maker, given)
  } catch (cause) {
    throw new AppError(
      'INVALID_INVITE',
      'The person who made this invite may no longer give this access: ask for a new invite.',
      {
        cause,
      },
    )
  }
}
