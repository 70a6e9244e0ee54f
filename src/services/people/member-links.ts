/** Links that an administrator makes for one member, and passes on. */
import { requireMayAssign } from '../../auth/policy.ts'
import { type Member, memberViewer, type Origin } from '../../auth/viewer.ts'
import type { Database } from '../../db/client.ts'
import { findMember } from '../../db/members.ts'
import { AppError } from '../../errors.ts'

/** Returns the member whom a link is for; null if its creator could not create it any more. */
export async function memberOfLink(
  db: Database,
  { workspaceId, userId, createdBy }: { workspaceId: string; userId: string; createdBy: string },
  origin: Origin,
): Promise<Member | null> {
  const [target, creator] = [await findMember(db, workspaceId, userId), await findMember(db, workspaceId, createdBy)]
  if (!target || !creator) return null
  try {
    requireMayAssign(memberViewer(creator, creator.userId, origin), target)
  } catch (error) {
    if (error instanceof AppError) return null
    throw error
  }
  return target
}
