import { requireAccount } from '../auth/policy.ts'
import type { Origin, Viewer } from '../auth/viewer.ts'
import type { Creator } from '../db/creator.ts'
import type { Credentials } from './people/credentials.ts'

/** Returns what is stored of the viewer who creates something. @throws SESSION_REQUIRED for a share link */
export function asCreator(viewer: Viewer): Creator {
  const { member, credentialId } = viewer
  const kind = requireAccount(viewer)
  return { workspaceId: member.workspaceId, userId: member.userId, credentialKind: kind, credentialId }
}

/**
 * Jobs, schedules and webhooks act as the person who created them. They end with the API key that created them; the end of a session
 * does not end them.
 * @throws as `Credentials.recall`
 */
export function creatorOf(
  credentials: Pick<Credentials, 'recall' | 'recallMember'>,
  created: Creator,
  origin: Origin,
): Promise<Viewer> {
  const { credentialKind: kind, credentialId } = created
  return kind === 'API_KEY'
    ? credentials.recall({ kind, credentialId, origin })
    : credentials.recallMember({ ...created, sessionId: credentialId, origin })
}
