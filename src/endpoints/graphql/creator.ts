import { requireViewer } from '../../auth/viewer.ts'
import type { GraphqlContext } from './context.ts'
import type { SeenMember } from './refs.ts'

/** Finds the person who created something; null if they are no longer a member, or if the viewer may not see them. */
export async function findCreator(
  userId: string | null,
  { services, viewer }: GraphqlContext,
): Promise<SeenMember | null> {
  const member = userId === null ? null : await services.members.findVisible(requireViewer(viewer), userId)
  return member && { member, seenBy: viewer }
}
